/** New rows: one for a command, and one that takes another's place (R6). Pure. */
import type { CommandInput } from '../../shared/command.ts';
import type { Key } from '../../shared/key.ts';
import { MAX_REPLACES, ROW_FORMAT, type Row } from '../../shared/row.ts';
import { replacesOf } from './attempt.ts';
import type { RowDraft } from './row-store.ts';

/** What of a row follows from its content. */
export interface RequestPart {
  readonly id: string;
  readonly requestHash: string;
  readonly expectedRevision?: number | undefined;
  readonly bodyId?: string | undefined;
  readonly bodyDigest?: string | undefined;
  readonly bodySize?: number | undefined;
}

/** A queued row at the end of the order. */
export function draftRow(
  command: Pick<CommandInput, 'kind' | 'tags' | 'sourceRef' | 'after' | 'urgent' | 'expiresAt'>,
  key: Key,
  request: RequestPart,
  now: number,
): RowDraft {
  const { kind, tags, sourceRef, after, urgent, expiresAt } = command;
  return {
    format: ROW_FORMAT,
    origin: request.id,
    ...key,
    kind,
    savedAt: now,
    ...request,
    sourceRef,
    tags,
    after: after?.length ? [...new Set(after)] : undefined,
    urgent: urgent || undefined,
    expiresAt,
    state: 'queued',
    doubt: false,
    evidence: { attemptCount: 0 },
  };
}

/**
 * The row that takes the place of `row` with another request: its line, its place, and what waits for it stay;
 * what is known of past attempts says nothing about the new request. Fields of newer releases are kept (R2).
 */
export function draftInPlace(row: Row, request: RequestPart): RowDraft {
  return {
    ...row,
    ...request,
    replaces: replacesOf(row),
    version: undefined,
    state: 'queued',
    doubt: false,
    sentAt: undefined,
    deferredAt: undefined,
    heldAt: undefined,
    blockedAt: undefined,
    blockedCode: undefined,
    claim: undefined,
    evidence: { attemptCount: 0 },
    notBefore: undefined,
    conflict: undefined,
    recovery: undefined,
    lookupNone: undefined,
    writer: undefined,
  };
}

/** Both lists without repeats, or nothing. */
export function joined(...lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const all = [...new Set(lists.flatMap((list) => list ?? []))];
  return all.length > 0 ? all : undefined;
}

/** Ids that a row took over from removed ones, theirs included, bounded (R1). */
export function tookOver(removed: readonly Row[], ...also: readonly string[]): readonly string[] | undefined {
  return joined(...removed.map((row) => replacesOf(row)), also)?.slice(-MAX_REPLACES);
}
