/** What a person reads about a change that waits: a badge of one or two words, and a sentence. */
import { blockedReason } from 'holdfast/shared';
import { formatLong, formatTime } from './day.ts';
import type { IconName } from './icons.tsx';
import type { WaitingChange } from './waiting-change.ts';

export type Mood = 'waiting' | 'sending' | 'held' | 'blocked';

export interface Badge {
  readonly mood: Mood;
  readonly icon: IconName;
  readonly text: string;
}

export function badgeOf(change: WaitingChange): Badge {
  switch (change.row.state) {
    case 'sending':
      return { mood: 'sending', icon: 'send', text: 'Sending' };
    case 'held':
      return { mood: 'held', icon: 'lock', text: 'Sign in' };
    case 'blocked':
      return { mood: 'blocked', icon: 'alert', text: 'Needs you' };
    case 'queued':
      return { mood: 'waiting', icon: 'clock', text: 'Waiting' };
  }
}

/** What the person asked for when it was saved. */
export function wishesOf({ row }: WaitingChange): readonly Pick<Badge, 'icon' | 'text'>[] {
  return [
    ...(row.urgent ? [{ icon: 'send', text: 'Goes first' } as const] : []),
    ...(row.expiresAt !== undefined
      ? [{ icon: 'clock', text: `Until ${formatTime(row.expiresAt)}` } as const]
      : []),
  ];
}

/** One line: why this change is still here. */
export function sentenceOf(change: WaitingChange, isOnline: boolean): string {
  const { row } = change;
  if (row.state === 'blocked') return blockedReason(row.blockedCode ?? '').sentence;
  if (row.state === 'held') return 'Kept here until you sign in again.';
  if (row.state === 'sending')
    return isLargePhoto(change)
      ? 'On its way to the server. A photo of this size takes a while where the connection is slow.'
      : 'On its way to the server.';
  if (row.after !== undefined) return 'Leaves right after the workout it belongs to.';
  if (row.successorOf !== undefined || (row.target.type === 'pending' && row.kind !== 'create')) {
    return 'Leaves right after the change before it.';
  }
  // One of them leaves at a time (C31), so this one may have to wait longer than a moment.
  if (isLargePhoto(change) && isOnline && row.lastErrorCode === undefined && row.notBefore === undefined)
    return 'Saved here. Photos leave one after the other.';
  return waitingSentence(row, isOnline);
}

function pictureOf({ body }: WaitingChange): Blob | undefined {
  const { picture } = (body ?? {}) as { readonly picture?: unknown };
  return picture instanceof Blob ? picture : undefined;
}

function isLargePhoto(change: WaitingChange): boolean {
  return (pictureOf(change)?.size ?? 0) >= 262_144;
}

function photoTitle(change: WaitingChange): string {
  const { size = 0 } = pictureOf(change) ?? {};
  return size < 100_000 ? 'Photo of a workout' : `Photo of a workout · ${(size / 1e6).toFixed(1)}\u00a0MB`;
}

/** Once it has been tried, the person learns what came of that, and that a second try does no harm. */
function waitingSentence(
  { doubt, notBefore, lastErrorCode }: WaitingChange['row'],
  isOnline: boolean,
): string {
  if (!isOnline) return `Saved here. Leaves when the connection is back${doubt ? ', and counts once' : ''}.`;
  if (notBefore?.by === 'server') return 'The server asked to wait. It leaves then.';
  if (lastErrorCode === undefined) return 'Saved here. Leaves in a moment.';
  if (FOREIGN.has(lastErrorCode)) return 'Something else than the server answered: a Wi-Fi sign-in, perhaps.';
  if (!doubt) return 'The server did not take it yet. It is tried again.';
  return lastErrorCode.startsWith('http_5')
    ? 'The server had trouble. It is sent again, and counts once.'
    : 'The answer got lost. It is sent again, and counts once.';
}

/** Portals, proxies, sign-in pages. */
const FOREIGN: ReadonlySet<string> = new Set(['portal', 'redirect', 'foreign_answer']);

export function titleOf(change: WaitingChange): string {
  const { row, body } = change;
  switch (row.kind) {
    case 'create':
      if (row.family === 'photo') return photoTitle(change);
      return `New: ${summaryOf(body)}`;
    case 'update':
      return `Change: ${summaryOf({ exercise: change.base?.exercise, ...(body as object) })}`;
    case 'delete':
      return `Delete: ${change.base?.exercise ?? 'a workout'}`;
    case 'put':
      return `Plan: ${String((body as { title?: string } | undefined)?.title ?? 'a day')}`;
    case 'remove':
      return `No plan: ${row.target.type === 'id' ? formatLong(row.target.id) : 'a day'}`;
  }
}

function summaryOf(body: unknown): string {
  const { exercise, weightKg, sets, reps, note } = (body ?? {}) as Partial<Record<string, string | number>>;
  const parts = [
    exercise,
    weightKg === undefined ? undefined : `${weightKg}\u00a0kg`,
    sets === undefined || reps === undefined ? undefined : `${sets}×${reps}`,
  ].filter((part) => part !== undefined);
  if (parts.length > 0) return parts.join(' · ');
  return note === undefined ? 'a workout' : `“${note}”`;
}
