/** Default texts, in one place so that an app can put its own in theirs (D11, D42). */
import { blockedReason } from '../shared/blocked-code.ts';
import type { Settled } from '../shared/outcome.ts';

export const SENTENCES = {
  announce: (count: number) => (count === 1 ? 'Your change is saved.' : `${count} changes are saved.`),
  notice: (count: number) =>
    count === 1 ? 'One change could not be synced.' : `${count} changes could not be synced.`,
  waiting: (count: number) => (count === 1 ? 'One change is waiting.' : `${count} changes are waiting.`),
  offline: 'No connection. Changes are kept on this device.',
  held: 'Sign in to send what is waiting.',
} as const;

/** What became of a command, in a sentence for the person who gave it. */
export function sentenceOf(settled: Settled): string {
  switch (settled.type) {
    case 'uploaded':
      return 'Saved.';
    case 'already_gone':
      return 'It was deleted already.';
    case 'unknown':
      return blockedReason(settled.rejection.code).sentence;
    case 'blocked':
      return blockedReason(settled.code).sentence;
    case 'held':
      return SENTENCES.held;
    case 'deferred':
      return 'Not sent yet. It is kept on this device and will be tried again.';
    case 'dropped':
      return 'Dropped: the version on the server stands.';
    case 'cancelled':
      return 'Withdrawn before it was sent.';
    case 'discarded':
      return 'Discarded.';
    default:
      return 'This device knows nothing of that change.';
  }
}
