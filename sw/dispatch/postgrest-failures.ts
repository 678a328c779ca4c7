/**
 * Reads the answers of PostgREST (Supabase and others): SQLSTATEs and `PGRST…` codes in a JSON body
 * `{code, details, hint, message}` (D10). Give it to a family as `mapFailure`.
 */
import { readMember } from './failure-signals.ts';
import type { MapFailure } from './family-ports.ts';
import { readRevision } from './revision.ts';

export interface PostgrestOptions {
  /** Codes your functions raise for a revision conflict. One with `actual_revision` in its detail needs no listing. */
  readonly conflictCodes?: readonly string[] | undefined;
  /** Codes your functions raise where the record is gone. */
  readonly goneCodes?: readonly string[] | undefined;
  /** Codes your functions raise for a key that was used for another request (V2). */
  readonly keyReusedCodes?: readonly string[] | undefined;
}

type Mapped = NonNullable<ReturnType<MapFailure>>;

/** By code or its beginning; the first that fits decides. What is not here the status tells. */
const BY_CODE: readonly (readonly [prefix: string, given: Mapped['class'], code: string])[] = [
  ['PGRST116', 'permanent', 'source_deleted'],
  ['PGRST00', 'transient', 'database_unreachable'],
  ['PGRST30', 'auth', 'unauthorized'],
  ['23505', 'permanent', 'conflict'],
  ['23', 'permanent', 'rejected'],
  ['40001', 'transient', 'serialization'],
  ['40P01', 'transient', 'serialization'],
  ['55P03', 'transient', 'locked'],
  ['57014', 'transient', 'statement_timeout'],
  ['57P', 'transient', 'database_unreachable'],
  ['53', 'transient', 'database_busy'],
  ['08', 'transient', 'database_unreachable'],
  // A replica, or a primary that is about to be one: the answer is a 405, which would block the row.
  ['25006', 'transient', 'read_only'],
  ['28', 'auth', 'unauthorized'],
];

/**
 * A revision conflict returned as HTTP 400 is one all the same: its detail names `actual_revision`, as a member,
 * as JSON text or as `actual_revision=7`.
 */
export function postgrestFailures(options: PostgrestOptions = {}): MapFailure {
  const { conflictCodes, goneCodes, keyReusedCodes } = options;
  return ({ code, json }) => {
    if (code === undefined) return undefined;
    if (keyReusedCodes?.includes(code)) return { class: 'permanent', code: 'key_reused' };
    if (goneCodes?.includes(code)) return { class: 'permanent', code: 'source_deleted' };
    const actualRevision = revisionIn(readMember(json, 'details'));
    if (actualRevision !== undefined || conflictCodes?.includes(code))
      return { class: 'conflict', code: 'revision_conflict', actualRevision };
    const found = BY_CODE.find(([prefix]) => code.startsWith(prefix));
    return found && { class: found[1], code: found[2] };
  };
}

function revisionIn(details: unknown): number | undefined {
  if (typeof details !== 'string') return readRevision(readMember(details, 'actual_revision'));
  return readRevision(/\bactual_revision\W{1,4}(\d{1,16})\b/.exec(details)?.[1]);
}
