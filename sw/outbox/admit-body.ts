/**
 * A payload on its way in: a copy that its caller cannot change any more (A72), checked by the family's validator
 * and digested. Nothing here reads or writes the store.
 */
import { HoldfastError, InvalidBodyError, UnencodableBodyError } from '../../shared/errors.ts';
import { findUnclonable } from '../../shared/find-unclonable.ts';
import type { SchemaResult, StandardSchema } from '../../shared/standard-schema.ts';
import type { Digest, Timers } from '../environment.ts';
import { digestBody } from './hash-request.ts';
import { inTime } from './time-limit.ts';

/** Default for `maxBodyBytes`. */
export const MAX_BODY_BYTES = 25 * 1024 * 1024;

export interface AdmittedBody {
  readonly body: unknown;
  readonly bodyDigest: string;
  readonly bodySize: number;
}

export interface AdmitOptions {
  readonly owner: string;
  readonly schema: StandardSchema | undefined;
  readonly maxBytes: number;
  /** How long an asynchronous validator may take, in ms (D4). */
  readonly limitMs: number;
  /** Puts in what the command belongs to (W60). */
  readonly fill?: ((body: unknown) => unknown) | undefined;
}

/** @throws UnencodableBodyError with `data.path` of what cannot be cloned (R46). */
export function copyBody(body: unknown): unknown {
  try {
    return structuredClone(body);
  } catch (cause) {
    const path = findUnclonable(body, structuredClone);
    throw new UnencodableBodyError(
      `Cannot store what is at ${path}: it cannot be cloned`,
      { path },
      { cause },
    );
  }
}

/**
 * Checks and digests a copy that nobody else holds. What the validator answers is what is stored.
 * @throws InvalidBodyError with the validator's issues, UnencodableBodyError, BodyTooLargeError
 */
export async function admitBody(
  deps: { readonly digest: Digest; readonly timers: Timers },
  copy: unknown,
  { owner, schema, maxBytes, limitMs, fill }: AdmitOptions,
): Promise<AdmittedBody> {
  const valid = schema ? await validate(deps.timers, schema, copy, limitMs) : copy;
  let filled = valid;
  try {
    filled = fill?.(valid) ?? valid;
  } catch (cause) {
    throw new InvalidBodyError(
      'The body could not be put under what it belongs to',
      { issues: [] },
      { cause },
    );
  }
  const body = filled === valid ? valid : copyBody(filled);
  return { body, ...(await digestBody(deps.digest, body, maxBytes, owner)) };
}

async function validate(
  timers: Timers,
  schema: StandardSchema,
  value: unknown,
  limitMs: number,
): Promise<unknown> {
  let result: SchemaResult<unknown>;
  try {
    const answer = schema['~standard'].validate(value);
    result = 'then' in answer ? await inTime(timers, limitMs, () => answer) : answer;
  } catch (cause) {
    throw new InvalidBodyError('The validator failed', { issues: [] }, { cause });
  }
  // The validator may keep what it was given and what it answers; what is stored is nobody else's.
  if (!result.issues) return copyBody(result.value);
  const issues = result.issues.map(({ message, path = [] }) => ({
    message,
    path: path.map((step) => String(typeof step === 'object' ? step.key : step)),
  }));
  const [first] = issues;
  const where = first ? `: ${['body', ...first.path].join('.')}: ${first.message}` : '';
  throw new InvalidBodyError(`The body is not valid${where}`, { issues });
}

/**
 * Folds bodies that are patches, in order (R36). The app's function gets copies, so that it may change them.
 * @throws InvalidBodyError where it fails (R46), BodyTooLargeError
 */
export async function foldBodies(
  digest: Digest,
  owner: string,
  merge: (earlier: unknown, later: unknown) => unknown,
  bodies: readonly unknown[],
  maxBytes: number,
): Promise<AdmittedBody> {
  try {
    const [first, ...later] = bodies.map((body) => structuredClone(body));
    const merged = later.reduce((earlier, body) => merge(earlier, body), first);
    const body = copyBody(merged);
    if (body === undefined) throw new Error('merge answered nothing');
    return { body, ...(await digestBody(digest, body, maxBytes, owner)) };
  } catch (cause) {
    if (cause instanceof HoldfastError && cause.code === 'body_too_large') throw cause;
    throw new InvalidBodyError('merge could not fold the bodies', { merge: true }, { cause });
  }
}
