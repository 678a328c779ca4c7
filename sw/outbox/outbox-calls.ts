/** What a host asks of the outbox, and what it hears. */
import type { Cancelled, EditedCopy, Enqueued } from '../../shared/answers.ts';
import type { CommandInput } from '../../shared/command.ts';

export interface CallOptions {
  /** Epoch ms. */
  readonly deadlineAt?: number | undefined;
}

export interface EnqueueOptions extends CallOptions {
  /** Nobody else holds the body, as one that came by message: it need not be copied. Default false. */
  readonly isOwn?: boolean | undefined;
}

export interface PersonChoices {
  /**
   * Withdraws a clean row (R35), with what cannot be sent without it. An id that is not known is remembered, so
   * that it cannot arrive any more (R9).
   * @throws WrongStateError where the server may have it; `data.instead` says what would do
   */
  cancel(owner: string, id: string, options?: CallOptions): Promise<Cancelled>;
  /** Gives up a blocked row, and says what went with it. @throws UnknownRowError, WrongStateError */
  discard(owner: string, id: string, options?: CallOptions): Promise<{ readonly removed: readonly string[] }>;
  /**
   * Sends a blocked row again (R34): in doubt under its own id, refused under a new one in its place. `overwrite` is
   * the person's word that this version shall stand, over a later one (C33) or over the server's.
   * @throws UnknownRowError, OvertakenError
   */
  retry(
    owner: string,
    id: string,
    options?: CallOptions & { readonly overwrite?: boolean | undefined },
  ): Promise<Enqueued>;
  /**
   * Sends an edited copy of a refused row in its place; without one, as `retry`.
   * @throws UnknownRowError, WrongStateError, and what `enqueue` throws of a body
   */
  recover(owner: string, id: string, edited?: EditedCopy, options?: CallOptions): Promise<Enqueued>;
}

export interface Outbox extends PersonChoices {
  /**
   * Stores a command as the replace table says. The body is copied before this returns; resolves when all of it is
   * on disk.
   * @throws BadInputError, RefusedError (nothing changed), TryAgainError (nothing was stored), CommitUnknownError
   */
  enqueue(input: CommandInput, options?: EnqueueOptions): Promise<Enqueued>;
}
