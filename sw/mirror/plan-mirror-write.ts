/**
 * Decides what the ledger is told about rows that changed (S20, S21, S23). Pure. Content is written once,
 * attempt data only when it differs, and a row that is gone leaves a tombstone and nothing else.
 */
import type { Row } from '../../shared/row.ts';
import type { BodyRead, UnmirroredId } from '../outbox/row-store.ts';
import { isSealed } from '../outbox/sealed-body.ts';
import type { LedgerAttempt, LedgerBatch, LedgerContent, LedgerRef, NamedTombstone } from './ledger.ts';

/** That a commit touched this id and the mirror has not seen it (S22). */
export interface UnmirroredNote extends LedgerRef, UnmirroredId {}

const IDENTITY_FIELDS: ReadonlySet<string> = new Set([
  'format',
  'id',
  'origin',
  'seq',
  'owner',
  'family',
  'kind',
  'target',
  'savedAt',
  'requestHash',
  'bodyId',
  'bodyDigest',
  'bodySize',
  'sourceRef',
  'expectedRevision',
  'tags',
  'replaces',
  'after',
  'urgent',
  'expiresAt',
]);

/** Every field that may change while the row waits, unknown ones included. */
export function attemptDataOf(row: Row): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(row).filter(([name, value]) => value !== undefined && !IDENTITY_FIELDS.has(name)),
  );
}

/** Tells whether attempt data differs without comparing it: FNV-1a over its JSON, key order made stable. */
export function fingerprintOf(data: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(data, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return `${text.length}:${hash >>> 0}`;
}

export interface MirrorView {
  readonly note: UnmirroredNote;
  /** The row now; absent if it is gone. */
  readonly row: Row | undefined;
  /** Of the attempt data in the ledger; absent if the ledger lacks the row. */
  readonly fingerprint: string | undefined;
  /** Needed only where the ledger lacks the row. */
  readonly body: BodyRead | undefined;
}

export interface MirrorWriteContext {
  readonly now: number;
  readonly maxBodyBytes: number;
}

export function planMirrorWrite(views: readonly MirrorView[], context: MirrorWriteContext): LedgerBatch {
  const contents: LedgerContent[] = [];
  const attempts: LedgerAttempt[] = [];
  const tombstones: NamedTombstone[] = [];
  const forget: LedgerRef[] = [];
  for (const { note, row, fingerprint, body } of views) {
    const { owner, id, g: generation } = note;
    if (row === undefined) {
      // C11 removes a row whose receipt was noted without a new outcome: that, too, is an upload.
      tombstones.push({
        id,
        tombstone: { owner, generation, at: context.now, reason: note.gone ?? 'uploaded' },
      });
      forget.push({ owner, id });
      continue;
    }
    const data = attemptDataOf(row);
    const now = fingerprintOf(data);
    if (fingerprint === undefined) contents.push(contentOf(row, body, generation, context));
    if (fingerprint !== now) attempts.push({ owner, id, generation, fingerprint: now, data });
  }
  return { contents, attempts, tombstones, forget };
}

function contentOf(
  row: Row,
  body: BodyRead | undefined,
  generation: number,
  context: MirrorWriteContext,
): LedgerContent {
  const base = { owner: row.owner, id: row.id, generation, row: { ...row } };
  if (row.bodyId === undefined) return base;
  const fits = (row.bodySize ?? 0) <= context.maxBodyBytes;
  if (body?.type !== 'body' || !fits) return { ...base, bodyLeftOut: true };
  return { ...base, body: body.body, ...(isSealed(body.body) && { bodyLeftOut: true }) };
}
