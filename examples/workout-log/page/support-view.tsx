/** The inspector, for whoever helps the person at this device. Loaded when somebody looks. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import type { Session } from './session.ts';

interface SupportViewProps {
  readonly session: Session;
  readonly onClose: () => void;
}

export function SupportView({ session, onClose }: SupportViewProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  const [hasFailed, setFailed] = useState(false);

  useEffect(() => {
    let isGone = false;
    title.current?.focus();
    import('holdfast/inspector').then(
      ({ defineInspector }) => {
        if (isGone) return;
        defineInspector();
        const inspector = document.createElement('holdfast-inspector');
        inspector.outbox = session.outbox;
        place.current?.replaceChildren(inspector);
      },
      () => setFailed(true),
    );
    return () => {
      isGone = true;
    };
  }, [session]);

  return (
    <section class="support" aria-labelledby="support-title">
      <div class="support-head">
        <h2 id="support-title" ref={title} tabIndex={-1}>
          Support
        </h2>
        <button type="button" class="button button-small" onClick={onClose}>
          <Icon name="left" />
          Back to the log
        </button>
      </div>
      {hasFailed && (
        <p class="notice notice-bad">The inspector could not be loaded. Try again when connected.</p>
      )}
      <div ref={place} />
    </section>
  );
}
