/** What an enqueue answers: where the command is kept, and how to learn its end. */
import type { Enqueued } from '../shared/answers.ts';
import type { EnqueueAction } from '../shared/command.ts';
import type { Target } from '../shared/key.ts';
import type { Settled } from '../shared/outcome.ts';
import type { Row } from '../shared/row.ts';

export interface Handle {
  /** The id of the row that stands for the command now; of the command itself where nothing waits any more. */
  readonly id: string;
  /** Names the line of commands it belongs to, also after its id has changed. */
  readonly origin: string;
  /** Give it to later commands on the same thing, also before the server has given it an id. */
  readonly target: Target;
  readonly action: EnqueueAction;
  readonly row: Row | undefined;
  /** Ids that this command replaced or removed. */
  readonly removed: readonly string[];
  /**
   * What became of it: resolves at its end, and before that when it is held, deferred or blocked. After a reload
   * `outbox.settled(id)` is the same promise.
   */
  readonly settled: Promise<Settled>;
}

export function createHandle(
  { id, target }: { readonly id: string; readonly target?: Target | undefined },
  { action, row, removed, settled }: Enqueued,
  wait: (id: string) => Promise<Settled>,
): Handle {
  let waiting: Promise<Settled> | undefined;
  return {
    id: row?.id ?? id,
    origin: row?.origin ?? id,
    target: row?.target ?? target ?? { type: 'pending', origin: id },
    action,
    row,
    removed,
    // Nobody who does not look pays for it, and no rejection is left without a listener.
    get settled() {
      waiting ??= settled ? Promise.resolve(settled) : wait(row?.id ?? id);
      return waiting;
    },
  };
}
