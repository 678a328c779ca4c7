/** Tells screen readers, and everyone else in a brief note, what just happened. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { createStore, useReadable } from './store.ts';

interface Announcement {
  readonly text: string;
  readonly tone: 'plain' | 'good' | 'bad';
  /** Makes the same words twice two announcements. */
  readonly n: number;
}

const SHOWN_MS = 4_500;
const announcements = createStore<Announcement>({ text: '', tone: 'plain', n: 0 });

export function announce(text: string, tone: Announcement['tone'] = 'plain'): void {
  announcements.set({ text, tone, n: announcements.getSnapshot().n + 1 });
}

export function Announcer(): JSX.Element {
  const { text, tone, n } = useReadable(announcements);
  const [seen, setSeen] = useState(0);
  useEffect(() => {
    const timer = setTimeout(() => setSeen(n), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [n]);
  return (
    <div class="announcer" role="status" aria-live="polite">
      {text !== '' && seen !== n && (
        <p key={n} class={`toast toast-${tone}`}>
          {text}
        </p>
      )}
    </div>
  );
}
