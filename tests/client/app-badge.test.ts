import { describe, expect, it, vi } from 'vitest';
import { type BadgeOptions, keepAppBadge } from '../../client/app-badge.ts';
import { NO_COUNTS } from '../support/fake-engine.ts';
import { createHandView } from '../support/view-fixture.ts';

/** The browser's badge, which says what it showed in turn; `clear` is no badge. */
function badge(refuses = false) {
  const shown: (number | 'clear' | undefined)[] = [];
  const note = async (what: number | 'clear' | undefined): Promise<void> => {
    shown.push(what);
    if (refuses) throw new DOMException('Not here', 'NotAllowedError');
  };
  const navigator: BadgeOptions['navigator'] = {
    setAppBadge: note,
    clearAppBadge: () => note('clear'),
  };
  return { shown, navigator };
}

const counts = (part: Partial<typeof NO_COUNTS>) => ({ counts: { ...NO_COUNTS, ...part } });

describe('the badge of the app', () => {
  it('[W51] shows how many changes wait, whatever holds them up, and goes at 0', () => {
    const { shown, navigator } = badge();
    const view = createHandView(counts({ queued: 2, sending: 1, held: 3, blocked: 4 }));
    keepAppBadge(view, { navigator });
    view.set(counts({ blocked: 1 }));
    view.set({ connection: 'offline' });
    view.set(counts({}));
    expect(shown).toEqual([10, 1, 'clear']);
  });

  it('[W51] goes with the account', () => {
    const { shown, navigator } = badge();
    const view = createHandView(counts({ queued: 2 }));
    keepAppBadge(view, { navigator });
    view.set({ owner: undefined, isReady: false });
    expect(shown).toEqual([2, 'clear']);
  });

  it('[W51] goes also where the app ends it right after signing out', () => {
    const { shown, navigator } = badge();
    const view = createHandView(counts({ queued: 2 }));
    const silent = { ...view, subscribe: () => () => undefined };
    const end = keepAppBadge(silent, { navigator });
    view.set({ owner: undefined });
    end();
    expect(shown).toEqual([2, 'clear']);
  });

  it('[W51] stays as it was until the rows have been read, and when the page has gone', () => {
    const { shown, navigator } = badge();
    const view = createHandView({ isReady: false });
    const end = keepAppBadge(view, { navigator });
    expect(shown).toEqual([]);
    view.set({ isReady: true, ...counts({ queued: 1 }) });
    end();
    expect(view.listenerCount).toBe(0);
    expect(shown).toEqual([1]);
  });

  it('[W51] counts what the app says', () => {
    const { shown, navigator } = badge();
    const view = createHandView(counts({ queued: 5, blocked: 2 }));
    keepAppBadge(view, { navigator, count: (snapshot) => snapshot.counts.blocked });
    expect(shown).toEqual([2]);
  });

  it('[W51] troubles nobody where there are no badges or they are refused', async () => {
    const view = createHandView(counts({ queued: 1 }));
    const { shown, navigator } = badge(true);
    expect(() => keepAppBadge(view, { navigator: {} })).not.toThrow();
    keepAppBadge(view, { navigator });
    await Promise.resolve();
    view.set(counts({ queued: 2 }));
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setImmediate(resolve));
    expect(shown).toEqual([1, 2]);
  });

  it('[W51] leaves other listeners be where the app’s own count fails, and does not hide it', () => {
    vi.useFakeTimers();
    const { shown, navigator } = badge();
    const view = createHandView();
    keepAppBadge(view, {
      navigator,
      count() {
        throw new Error('cannot count');
      },
    });
    const heard = vi.fn();
    view.subscribe(heard);
    view.set(counts({ queued: 1 }));
    expect(heard).toHaveBeenCalledOnce();
    expect(shown).toEqual([]);
    expect(() => vi.runOnlyPendingTimers()).toThrow('cannot count');
    vi.useRealTimers();
  });
});
