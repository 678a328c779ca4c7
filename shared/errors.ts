/**
 * Every class a caller may catch, grouped by cure (W15). Each has a literal `code` and plain `data`, so that it
 * crosses the line between page and worker as what it is. `name` is made from the code, because minifiers rename
 * classes: `quota` is `QuotaError`.
 */
import { HoldfastError, RefusedError, TryAgainError } from './call-errors.ts';

export * from './call-errors.ts';

/** The call is wrong; nothing was stored; the same call will fail again. */
export abstract class BadInputError extends HoldfastError {
  override readonly cure = 'bad_input';
}

/** Names the path of the first thing that is wrong with a command (R46). */
export class InvalidCommandError extends BadInputError {
  readonly code = 'invalid_command';
}
/** The payload failed the family's validator. `data.issues` are the validator's own. */
export class InvalidBodyError extends BadInputError {
  readonly code = 'invalid_body';
}
/** The payload cannot be encoded, hashed or cloned; `data.path` says where (R4). */
export class UnencodableBodyError extends BadInputError {
  readonly code = 'unencodable_body';
}
export class BodyTooLargeError extends BadInputError {
  readonly code = 'body_too_large';
}
export class UnknownFamilyError extends BadInputError {
  readonly code = 'unknown_family';
}
/** An option or definition is wrong. */
export class InvalidOptionError extends BadInputError {
  readonly code = 'invalid_option';
}

/** An id that was used for other content, or under another key (R9, R11). */
export class IdentityConflictError extends RefusedError {
  readonly code = 'identity_conflict';
}
/** An update behind a delete that may still be applied (R12). */
export class TargetDeletedError extends RefusedError {
  readonly code = 'target_deleted';
}
/** The creation this command aims at was refused, discarded or never existed here (R18). */
export class NoSuchTargetError extends RefusedError {
  readonly code = 'no_such_target';
}
/** A later row of the key left while this one was blocked (C33). Say `overwrite: true` to send it all the same. */
export class OvertakenError extends RefusedError {
  readonly code = 'overtaken';
}
/** The row's state does not allow this; `data.state` and `data.instead` say what would (R35). */
export class WrongStateError extends RefusedError {
  readonly code = 'wrong_state';
}
/** No row and no journal entry has this id. */
export class UnknownRowError extends RefusedError {
  readonly code = 'unknown_row';
}
/** The id was withdrawn before it arrived (R9). */
export class CancelledError extends RefusedError {
  readonly code = 'cancelled';
}
/** Others kept changing the same key until the deadline (R42). */
export class OutboxContentionError extends TryAgainError {
  readonly code = 'outbox_contention';
}
/** IndexedDB cannot be opened or read (S15). */
export class OutboxUnavailableError extends TryAgainError {
  readonly code = 'outbox_unavailable';
}
/** Another connection keeps the database from being opened (S12). */
export class IdbBlockedError extends TryAgainError {
  readonly code = 'idb_blocked';
}
/** A time limit of the store passed and nothing was written (S10). */
export class StoreTimeoutError extends TryAgainError {
  readonly code = 'store_timeout';
}
/** The device has no room (S16). `data` says how much is used and by what. */
export class QuotaError extends TryAgainError {
  readonly code = 'quota';
}
/** The other end speaks no protocol version that this one knows (W14). */
export class ProtocolError extends TryAgainError {
  readonly code = 'protocol';
}
/** The other end does not know this call (W14). */
export class UnknownCallError extends TryAgainError {
  readonly code = 'unknown_call';
}

/** Bodies are to be encrypted and cannot be here; nothing was stored (W63). */
export class EncryptionUnavailableError extends HoldfastError {
  readonly code = 'encryption_unavailable';
}

/** Rows remain after a `sync` event: its promise rejects with this, so that the browser comes back (W21). */
export class RowsRemainError extends HoldfastError {
  readonly code = 'rows_remain';
}

/** The end of a commit could not be found out, not even by re-reading (S11). */
export class CommitUnknownError extends HoldfastError {
  readonly code = 'commit_unknown';
}
