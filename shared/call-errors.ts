/**
 * What every error of Holdfast has in common, and those that the page's part makes itself: apart from the others, so
 * that a page does not carry them all.
 */
export type ErrorData = Readonly<Record<string, unknown>>;

export abstract class HoldfastError extends Error {
  abstract readonly code: string;
  /** What helps, as the base classes say it. */
  readonly cure: Cure = 'none';
  readonly data: ErrorData;

  constructor(message: string, data: ErrorData = {}, options?: ErrorOptions) {
    super(message, options);
    this.data = data;
  }

  override get name(): string {
    return `_${this.code}_error`.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  }

  /**
   * An error is what its code says, wherever it was made: it may have crossed the line, or come from another copy of
   * this module. So a page that tells none of them apart carries none of the classes.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const { code, cure } = Object(value);
    // biome-ignore lint/complexity/noThisInStatic: the class that is asked about may be any below this one
    const mine: HoldfastError = Reflect.construct(this, ['']);
    return !!code && !!cure && (mine.code ?? code) === code && (mine.cure === 'none' || mine.cure === cure);
  }
}

export type Cure = 'bad_input' | 'refused' | 'try_again' | 'none';

/** The command is well formed but what is stored forbids it; nothing changed. */
export abstract class RefusedError extends HoldfastError {
  override readonly cure = 'refused';
}

/** Nothing was stored; the same call may well succeed later. */
export abstract class TryAgainError extends HoldfastError {
  override readonly cure = 'try_again';
}

/** The owner is not signed in here (R46, W30). */
export class SignedOutError extends RefusedError {
  readonly code = 'signed_out';
}

/** No worker and no page host could be reached before the deadline (W11, W13). */
export class NoHostError extends TryAgainError {
  readonly code = 'no_host';
}
/** It may have been stored: repeat with the same id, or cancel it (W11). `data.id` is the id. */
export class EnqueueUnknownError extends HoldfastError {
  readonly code = 'enqueue_unknown';
}
