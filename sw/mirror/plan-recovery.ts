/**
 * Decides what comes back after the outbox's database was lost, and with what proof (S31-S39). Pure. The rule
 * behind every line: what the server accepted never returns, what it did not is never buried, and what nobody
 * can vouch for is shown but not sent.
 */

import type { Recovery, Row } from '../../shared/row.ts';
import { decodeRow } from '../../shared/row-codec.ts';
import type { SnapshotOffer, SnapshotRow } from '../../shared/snapshot.ts';
import type { LedgerEntry, Manifest } from './ledger.ts';

export interface Restored {
  readonly row: Row;
  readonly body: unknown;
}

/** Rebuilds a row from the ledger. Shown, but unproven until its owner's snapshot was seen or the server asked (S31). */
export function planLedgerRow(entry: LedgerEntry, now: number): Restored | undefined {
  const { content, attempt } = entry;
  const decoded = decodeRow({ ...content.row, ...attempt?.data });
  if (decoded.type !== 'row') return undefined;
  const bodyLeftOut = content.bodyLeftOut === true && !('body' in content);
  return restore(decoded.row, content.body, bodyLeftOut, {
    source: 'ledger',
    at: now,
    generation: generationOf(attempt ?? content),
    proof: 'unverified',
  });
}

/** One bad number in a witness must not become everybody's. */
export function generationOf({ generation }: { readonly generation?: unknown }): number {
  return typeof generation === 'number' && Number.isFinite(generation) ? generation : 0;
}

function restore(row: Row, body: unknown, bodyLeftOut: boolean, recovery: Recovery): Restored {
  // Mirrored attempt data can lag, so every restored row counts as in doubt; a claim of before the loss is over.
  const waiting = row.state === 'sending' ? 'queued' : row.state;
  const base: Row = {
    ...row,
    state: waiting,
    sentAt: undefined,
    doubt: true,
    claim: row.claim && { ...row.claim, expiresAt: recovery.at },
    recovery,
  };
  if (!bodyLeftOut) return { row: base, body };
  return { row: block(base, 'body_unreadable', recovery.at), body: undefined };
}

function block(row: Row, code: string, now: number): Row {
  // What the person must know first is that the content is not there, whatever else has to be asked (S23).
  const blockedCode = row.blockedCode === 'body_unreadable' ? row.blockedCode : code;
  return { ...row, state: 'blocked', blockedAt: now, blockedCode };
}

/** S33, S34, S39: what the owner's snapshot says of a row that came back from the ledger. */
export function planAgreement(
  row: Row,
  offer: SnapshotOffer,
  snapshotIds: ReadonlySet<string>,
  now: number,
): Row {
  const { recovery } = row;
  if (recovery === undefined || recovery.proof !== 'unverified' || offer.type === 'unreadable') return row;
  if (offer.type === 'none') return prove(row, recovery, 'mirrored');
  if (snapshotIds.has(row.id)) return prove(row, recovery, 'agreed');
  // Beyond what it had room for it is no more than a snapshot that is not there.
  if (row.seq > (offer.until ?? Number.POSITIVE_INFINITY)) return prove(row, recovery, 'mirrored');
  if (offer.generation < recovery.generation) return prove(row, recovery, 'mirrored');
  return block(row, 'recovery_receipt_unknown', now);
}

function prove(row: Row, recovery: Recovery, proof: Recovery['proof']): Row {
  return { ...row, recovery: { ...recovery, proof } };
}

export interface SnapshotRowContext {
  readonly owner: string;
  readonly generation: number;
  readonly manifest: Manifest | undefined;
  readonly now: number;
}

/** S35, S36: a row that only the snapshot has. The caller has ruled out tombstones and rows that took over (S32). */
export function planSnapshotRow(candidate: SnapshotRow, context: SnapshotRowContext): Restored | undefined {
  const decoded = decodeRow(candidate.row);
  if (decoded.type !== 'row' || decoded.row.owner !== context.owner) return undefined;
  const { row } = decoded;
  const { manifest } = context;
  const known = manifest === undefined || manifest.unmirrored.includes(row.id);
  const recovery: Recovery = {
    source: 'snapshot',
    at: context.now,
    generation: context.generation,
    proof: known ? 'mirrored' : 'unverified',
  };
  const bodyLeftOut = row.bodyId !== undefined && !('body' in candidate);
  const restored = restore(row, candidate.body, bodyLeftOut, recovery);
  return known
    ? restored
    : { ...restored, row: block(restored.row, 'recovery_receipt_unknown', context.now) };
}
