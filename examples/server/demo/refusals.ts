/** Refusals that both kinds of resource share (V3, D45). */
import type { Refusal } from '../ledger/ledger.ts';

export function invalidBody(detail: string): Refusal {
  return { type: 'refused', status: 422, code: 'invalid', detail };
}

export function notFound(what: string): Refusal {
  return { type: 'refused', status: 404, code: 'not_found', detail: `There is no such ${what}` };
}

export function gone(what: string): Refusal {
  return { type: 'refused', status: 410, code: 'gone', detail: `This ${what} was deleted` };
}

/** `actual` is 0 where there is nothing yet. */
export function revisionConflict(expected: number, actual: number): Refusal {
  return {
    type: 'refused',
    status: 412,
    code: 'revision_conflict',
    detail: `Expected revision ${expected}, found ${actual}; nothing was changed`,
    members: { actual_revision: actual },
  };
}
