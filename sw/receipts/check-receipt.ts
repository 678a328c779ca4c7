/**
 * Compares an answer's receipt with the request it must prove (D20-D27). Pure; knows no server API and no page.
 * Never throws, whatever the answer is.
 */
import type { Family } from '../../shared/family.ts';
import type { Target } from '../../shared/key.ts';
import type { ReceiptRejection } from '../../shared/outcome.ts';
import type { Receipt } from '../../shared/receipt.ts';
import type { CommandKind } from '../../shared/row.ts';

/** What was sent, as far as a receipt can prove it. */
export interface SentCommand {
  readonly id: string;
  readonly requestHash: string;
  readonly owner: string;
  readonly family: string;
  readonly kind: CommandKind;
  readonly wireKind: string;
  readonly target: Target;
  readonly expectedRevision?: number | undefined;
}

export interface ReceiptCheck {
  /** What the server gave as the receipt: anything at all. */
  readonly receipt: unknown;
  readonly sent: SentCommand;
  /** The owner this flush is for. */
  readonly owner: string;
  readonly family: Pick<Family, 'type' | 'wireKinds' | 'checksKeyItself'>;
}

export type ReceiptVerdict =
  | { readonly type: 'matches'; readonly receipt: Receipt }
  | { readonly type: 'rejected'; readonly rejection: ReceiptRejection };

export function checkReceipt({ receipt: given, sent, owner, family }: ReceiptCheck): ReceiptVerdict {
  if (sent.owner !== owner) return mismatch('owner');
  const receipt = readFields(given);
  if (!receipt) return rejected({ code: 'receipt_missing', field: 'receipt' });
  const { id, requestHash, kind, target, revision, generation, committedAt, replayed } = receipt;
  const olderKinds =
    family.wireKinds && Object.hasOwn(family.wireKinds, sent.kind) ? family.wireKinds[sent.kind] : [];
  if (typeof kind !== 'string' || (kind !== sent.wireKind && !olderKinds?.includes(kind)))
    return mismatch('kind');
  if (family.checksKeyItself !== true) {
    if (id !== sent.id) return mismatch('id');
    if (requestHash !== sent.requestHash) return mismatch('requestHash');
  }
  // A creation has no id to compare with, but what waits for it needs one (C21).
  if (typeof target !== 'string' || target === '' || (sent.target.type === 'id' && target !== sent.target.id))
    return mismatch('target');
  const isBound = sent.kind === 'update' || sent.kind === 'delete';
  const lowest = isBound ? Math.max(1, sent.expectedRevision ?? 1) : 1;
  if (!isIntegerFrom(revision, lowest)) return mismatch('revision');
  if (!isIntegerFrom(generation, family.type === 'record' ? 1 : 0)) return mismatch('generation');
  return {
    type: 'matches',
    receipt: {
      id: sent.id,
      requestHash: sent.requestHash,
      kind,
      target,
      revision,
      generation,
      committedAt: readInstant(committedAt),
      ...(replayed === true ? { replayed } : {}),
    },
  };
}

const FIELDS = [
  'id',
  'requestHash',
  'kind',
  'target',
  'revision',
  'generation',
  'committedAt',
  'replayed',
] as const;

/** Each field once, so that nothing the answer does on reading can happen half way through the checks. */
function readFields(given: unknown): Readonly<Record<(typeof FIELDS)[number], unknown>> | undefined {
  try {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
    const [id, requestHash, kind, target, revision, generation, committedAt, replayed] = FIELDS.map(
      (field): unknown => (given as Readonly<Record<string, unknown>>)[field],
    );
    return { id, requestHash, kind, target, revision, generation, committedAt, replayed };
  } catch {
    return undefined;
  }
}

function isIntegerFrom(value: unknown, lowest: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= lowest;
}

const LONGEST_INSTANT = 64;

function readInstant(value: unknown): string | number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  return typeof value === 'string' ? value.slice(0, LONGEST_INSTANT) : '';
}

function mismatch(field: ReceiptRejection['field']): ReceiptVerdict {
  return rejected({ code: 'receipt_mismatch', field });
}

function rejected(rejection: ReceiptRejection): ReceiptVerdict {
  return { type: 'rejected', rejection };
}
