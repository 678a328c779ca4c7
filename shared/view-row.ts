/** The part of a row that pages show, and the part of that which changes while it lives (W18). */
import type { ViewPatch, ViewRow, ViewState } from './protocol.ts';
import { isInDoubt, type Row } from './row.ts';

/** A field that is not set costs nothing on the wire. */
function defined<T extends object>(value: T): T {
  for (const name of Object.keys(value) as (keyof T)[]) if (value[name] === undefined) delete value[name];
  return value;
}

export function toViewPatch(row: Row): ViewPatch {
  const { state, doubt, ...rest } = stateOf(row);
  return defined({
    id: row.id,
    ...rest,
    state: state === 'sending' ? undefined : state,
    doubt: doubt ? undefined : doubt,
  });
}

function stateOf(row: Row): ViewState & { readonly doubt: boolean } {
  return {
    state: row.state,
    version: row.version,
    doubt: isInDoubt(row),
    blockedCode: row.blockedCode,
    successorOf: row.successorOf,
    notBefore: row.notBefore,
    overtakenBy: row.overtakenBy,
    conflict: row.conflict,
    recovery: row.recovery,
    noticed: row.noticed,
    attemptCount: row.evidence.attemptCount,
    lastErrorCode: row.evidence.lastErrorCode,
  };
}

export function toViewRow(row: Row): ViewRow {
  return defined({
    ...stateOf(row),
    id: row.id,
    origin: row.origin,
    seq: row.seq,
    family: row.family,
    kind: row.kind,
    target: row.target,
    savedAt: row.savedAt,
    bodyId: row.bodyId,
    expectedRevision: row.expectedRevision,
    sourceRef: row.sourceRef,
    tags: row.tags,
    replaces: row.replaces,
    after: row.after,
    urgent: row.urgent,
    expiresAt: row.expiresAt,
  });
}
