/** One sentence about the whole outbox: the most important thing that can be said of it now. Pure. */
import type { ViewSnapshot } from '../view-snapshot.ts';
import type { Format } from './format.ts';
import type { ScreenWords } from './words.ts';

export interface Verdict {
  readonly tone: 'good' | 'busy' | 'waits' | 'held' | 'bad';
  readonly title: string;
  readonly more: string;
}

export const isPaused = ({ stoppedBy }: Pick<ViewSnapshot, 'stoppedBy'>): boolean => stoppedBy === 'paused';

export const waitingOf = ({ counts }: Pick<ViewSnapshot, 'counts'>): number =>
  counts.queued + counts.sending + counts.held + counts.blocked;

export function judge(snapshot: ViewSnapshot, words: ScreenWords, format: Format): Verdict {
  const { counts, storage, stuckSince, progress, wakeAt, stoppedBy, accepted = [] } = snapshot;
  const waiting = counts.queued + counts.sending;
  const say = (tone: Verdict['tone'], title: string, more = ''): Verdict => ({ tone, title, more });

  if (snapshot.owner === undefined) return say('held', words.signedOut, words.signedOutMore);
  if (storage.mode === 'no_database') return say('bad', words.noDatabase, words.noDatabaseMore);
  if (storage.mode === 'read_only') return say('bad', words.readOnly, words.readOnlyMore);
  if (storage.mode === 'full') return say('bad', words.full, words.fullMore);
  if (!snapshot.isReady) return say('busy', words.reading);
  if (isPaused(snapshot)) {
    const needs = counts.blocked > 0 ? ` ${words.needsPerson(counts.blocked)}.` : '';
    return say('held', words.paused(waiting), words.pausedMore + needs);
  }
  if (stuckSince !== undefined) return say('bad', words.stuck, words.stuckMore(format.time(stuckSince)));
  if (counts.blocked > 0) return say('bad', words.needsPerson(counts.blocked), words.needsPersonMore);
  if (counts.held > 0) return say('held', words.held(counts.held + waiting), words.heldMore);
  if (progress.running && progress.total > 0)
    return say('busy', words.sending(Math.min(progress.done + 1, progress.total), progress.total));
  if (snapshot.connection === 'offline') return say('waits', words.offline(waiting), words.offlineMore);
  if (accepted.length > 0) return say('waits', words.waiting(waiting), words.accepted(accepted.length));
  if (waiting === 0) return say('good', words.allSent, words.allSentMore);
  const stopped = stoppedBy === undefined ? '' : words.stopped(words.stops[stoppedBy] ?? stoppedBy);
  const wakes = wakeAt === undefined ? '' : words.wakesAt(format.time(wakeAt));
  return say('waits', words.waiting(waiting), [stopped, wakes].filter(Boolean).join(' '));
}
