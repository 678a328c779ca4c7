/** The surface of `holdfast/badge`: the number of changes that wait, on the installed app's icon (W51). */
import type { LiveView, ViewSnapshot } from './view-snapshot.ts';

/** The part of `navigator` that has badges, where it has. */
export interface BadgeNavigator {
  setAppBadge?(count?: number): Promise<void>;
  clearAppBadge?(): Promise<void>;
}

export interface BadgeOptions {
  /** What the badge counts. Default: every change that has not reached the server, whatever holds it up. */
  readonly count?: ((snapshot: ViewSnapshot) => number) | undefined;
  /** Given by tests. */
  readonly navigator?: BadgeNavigator | undefined;
}

const allWaiting = ({ counts }: ViewSnapshot): number =>
  counts.queued + counts.sending + counts.held + counts.blocked;

/**
 * Keeps the badge at the number that waits; none at 0 and when nobody is signed in. Until the rows have been read it
 * leaves the badge of last time alone. Does nothing where the browser has no badges or refuses them, and never throws.
 * What it shows is what this page knew last: a badge does not change while no page is open.
 *
 * The returned function ends it. What waits then keeps its badge; after a sign-out there is none.
 */
export function keepAppBadge(view: LiveView, options: BadgeOptions = {}): () => void {
  const { count = allWaiting } = options;
  const own: BadgeNavigator = options.navigator ?? navigator;
  let shown: number | undefined;

  const show = async (waiting: number): Promise<void> => {
    try {
      // A number of 0 would clear it too, where the browser follows the standard to the letter.
      await (waiting > 0 ? own.setAppBadge?.(waiting) : own.clearAppBadge?.());
    } catch {
      // Not allowed here (a frame, a browser's setting): a badge is a nicety, and nobody waits for it.
    }
  };
  const look = (): void => {
    const snapshot = view.getSnapshot();
    const isSignedOut = snapshot.owner === undefined;
    if (!isSignedOut && !snapshot.isReady) return;
    const waiting = isSignedOut ? 0 : count(snapshot);
    if (waiting === shown) return;
    shown = waiting;
    void show(waiting);
  };
  const follow = (): void => {
    try {
      look();
    } catch (error) {
      // The app's `count` failed: its mistake is the app's to see, and other listeners of the view go on.
      setTimeout(() => {
        throw error;
      }, 0);
    }
  };

  const end = view.subscribe(follow);
  follow();
  return () => {
    end();
    // A sign-out just before this has not been told yet.
    follow();
  };
}
