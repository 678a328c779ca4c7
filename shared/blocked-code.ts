/** Why a row waits for a person, with the sentence that person reads and the ways out it has (D11). */

export interface BlockedReason {
  readonly sentence: string;
  /** Ways out the row has: `retry` sends it again, `recover` sends an edited copy, `discard` gives it up. */
  readonly waysOut: readonly ('retry' | 'recover' | 'discard' | 'wait')[];
}

export const BLOCKED_REASONS = {
  rejected: {
    sentence: 'The server did not accept this change. Look it over, then send it again or discard it.',
    waysOut: ['recover', 'retry', 'discard'],
  },
  conflict: {
    sentence: 'Somebody else changed this in the meantime. Decide which version should stand.',
    waysOut: ['retry', 'recover', 'discard'],
  },
  source_deleted: {
    sentence: 'This was deleted elsewhere, so the change has nothing to apply to.',
    waysOut: ['recover', 'discard'],
  },
  unclassified: {
    sentence: 'Something unexpected happened while sending this change. It is kept here.',
    waysOut: ['retry', 'recover', 'discard'],
  },
  key_reused: {
    sentence: 'The server knows this change under other content. It may or may not have been applied.',
    waysOut: ['retry', 'discard'],
  },
  receipt_missing: {
    sentence: 'The server answered without proof that it saved this change. It may have been saved.',
    waysOut: ['retry', 'discard'],
  },
  receipt_mismatch: {
    sentence: 'The server answered about a different change. This one may or may not have been saved.',
    waysOut: ['retry', 'discard'],
  },
  successor_unprepared: {
    sentence: 'The record was created, but this later change to it could not be prepared.',
    waysOut: ['retry', 'discard'],
  },
  predecessor_receipt_unknown: {
    sentence: 'The server does not know the record that this change belongs to. It will be asked again.',
    waysOut: ['retry', 'discard', 'wait'],
  },
  recovery_receipt_unknown: {
    sentence:
      'This change was restored after a loss of data, and the server has not yet said whether it has it.',
    waysOut: ['retry', 'discard', 'wait'],
  },
  body_unreadable: {
    sentence: 'The content of this change can no longer be read on this device.',
    // Retrying helps where it was encrypted and its key has come back (W63).
    waysOut: ['retry', 'recover', 'discard'],
  },
  expired: {
    sentence: 'This change was too late to be sent.',
    waysOut: ['recover', 'discard'],
  },
  ledger_expired: {
    sentence: 'This change waited longer than the server remembers. It may have been saved long ago.',
    waysOut: ['retry', 'discard'],
  },
} as const satisfies Record<string, BlockedReason>;

/** A family may add its own codes. */
export type BlockedCode = keyof typeof BLOCKED_REASONS | (string & {});

const OWN_CODE: BlockedReason = {
  sentence: 'The server did not accept this change. It is kept here.',
  waysOut: ['retry', 'recover', 'discard'],
};

/**
 * @param row where given, its own ways out: a row in doubt is not sent under a new id before the server has said what
 * it knows (R34), and one without a body has none to put right.
 */
export function blockedReason(
  code: BlockedCode,
  row: { readonly kind?: string | undefined; readonly doubt?: boolean | undefined } = {},
): BlockedReason {
  const reason: BlockedReason = Object.hasOwn(BLOCKED_REASONS, code)
    ? BLOCKED_REASONS[code as keyof typeof BLOCKED_REASONS]
    : OWN_CODE;
  const { doubt } = row;
  if (!doubt && row.kind !== 'delete' && row.kind !== 'remove') return reason;
  const rest = reason.waysOut.filter((way) => way !== 'recover' && !(doubt && way === 'wait'));
  return { ...reason, waysOut: doubt ? [...rest, 'wait'] : rest };
}
