/** A page's `window` as far as Holdfast uses it, on a clock that a test moves. */
import { setMaxListeners } from 'node:events';
import type { PageRealm } from '../../client/page-realm.ts';
import type { ManualClock } from '../../sw/testing/manual-clock.ts';

export interface FakeRealm extends PageRealm {
  /** Fires an event at the window. */
  fire(type: 'online' | 'offline' | 'pageshow'): void;
  setOnline(isOnline: boolean): void;
  setHidden(isHidden: boolean): void;
  /** Listeners that have not been removed. */
  readonly listenerCount: number;
}

/** Counts what is listening, also by an abort signal. */
class CountedTarget extends EventTarget {
  count = 0;

  override addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: AddEventListenerOptions | boolean,
  ): void {
    super.addEventListener(type, listener, options);
    this.count++;
    if (typeof options !== 'object' || !options.signal) return;
    setMaxListeners(0, options.signal);
    options.signal.addEventListener('abort', () => this.count--);
  }
}

export function createFakeRealm(
  clock: ManualClock,
  parts: Partial<PageRealm['navigator']> = {},
  /** Shared by the pages of one origin. */
  stored = new Map<string, string>(),
): FakeRealm {
  const window = new CountedTarget();
  const document = Object.assign(new CountedTarget(), { hidden: false });
  const navigator = { onLine: true, ...parts };
  const timers = new Map<number, () => void>();
  let timer = 0;
  return {
    addEventListener: (...args: Parameters<EventTarget['addEventListener']>) =>
      window.addEventListener(...args),
    document,
    navigator,
    crypto,
    localStorage: {
      getItem: (key) => stored.get(key) ?? null,
      setItem: (key, value) => void stored.set(key, value),
      removeItem: (key) => void stored.delete(key),
    },
    Date: { now: clock.now },
    setTimeout(callback, ms) {
      timers.set(++timer, clock.after(ms, callback));
      return timer;
    },
    clearTimeout(id) {
      if (id !== undefined) timers.get(id)?.();
    },
    fire: (type) => void window.dispatchEvent(new Event(type)),
    setOnline(isOnline) {
      navigator.onLine = isOnline;
      window.dispatchEvent(new Event(isOnline ? 'online' : 'offline'));
    },
    setHidden(isHidden) {
      document.hidden = isHidden;
      document.dispatchEvent(new Event('visibilitychange'));
    },
    get listenerCount() {
      return window.count + document.count;
    },
  };
}
