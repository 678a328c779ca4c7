/** What an answer must look like, in one place. Each throws `Broken` with what was seen instead. Pure. */
import type { Receipt } from '../../shared/receipt.ts';
import { describeSeen, type ProbeCommand, type Seen } from './probe.ts';

/** The server does not keep the contract here. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

export function broken(saw: string): never {
  throw new Broken(saw);
}

export function isSuccess({ status }: Seen): boolean {
  return status >= 200 && status < 300;
}

/** The receipt of an accepted command, checked field by field as the engine does (D22-D27). */
export function receiptOf(command: ProbeCommand, answer: Seen, target?: string): Receipt {
  const asked = answer.asked ?? `${command.method} ${command.url}`;
  if (!isSuccess(answer)) broken(`${asked} answered ${describeSeen(answer)}`);
  const receipt = answer.json?.['receipt'];
  if (!isRecord(receipt)) return broken(`the answer has no "receipt": ${describeSeen(answer)}`);
  const wrong = (field: string, wanted: string) =>
    broken(`receipt.${field} is ${JSON.stringify(receipt[field])}, not ${wanted}`);
  if (receipt['kind'] !== command.kind) return wrong('kind', JSON.stringify(command.kind));
  if (receipt['id'] !== command.id) return wrong('id', 'the idempotency key that was sent');
  if (receipt['requestHash'] !== command.requestHash) return wrong('requestHash', 'the hash that was sent');
  if (typeof receipt['target'] !== 'string' || receipt['target'] === '') return wrong('target', 'an id');
  if (target !== undefined && receipt['target'] !== target) return wrong('target', JSON.stringify(target));
  if (!isCount(receipt['revision'], 1)) return wrong('revision', 'a positive integer');
  const leastGeneration = command.isDocument ? 0 : 1;
  if (!isCount(receipt['generation'], leastGeneration))
    return wrong('generation', `an integer of at least ${leastGeneration}`);
  const { committedAt } = receipt;
  if (
    typeof committedAt !== 'number' &&
    (typeof committedAt !== 'string' || Number.isNaN(Date.parse(committedAt)))
  )
    return wrong('committedAt', 'an instant (ISO 8601, or epoch milliseconds)');
  return {
    id: command.id,
    requestHash: command.requestHash,
    kind: command.kind,
    target: receipt['target'],
    revision: receipt['revision'],
    generation: receipt['generation'],
    committedAt,
    ...(receipt['replayed'] === true ? { replayed: true } : {}),
  };
}

/** The repeat of a command must carry the receipt of the first time. */
export function sameReceipt(command: ProbeCommand, first: Receipt, answer: Seen): void {
  const again = receiptOf(command, answer, first.target);
  for (const field of ['revision', 'generation', 'committedAt'] as const)
    if (again[field] !== first[field])
      broken(
        `the repeat's receipt has ${field} ${again[field]}, the first one ${first[field]}: it was applied again`,
      );
  if (again.replayed !== true) broken('the repeat\'s receipt does not say "replayed": true');
}

/** A problem document with one of these statuses and, where given, this code. */
export function problemOf(
  answer: Seen,
  statuses: readonly number[],
  code?: string,
): Readonly<Record<string, unknown>> {
  const wanted = `${statuses.join(' or ')}${code === undefined ? '' : ` with the problem type "…:${code}"`}`;
  if (!statuses.includes(answer.status)) broken(`wanted ${wanted}, got ${describeSeen(answer)}`);
  if (!/^application\/problem\+json\b/i.test(answer.headers.get('content-type') ?? '') || !answer.json)
    return broken(`wanted ${wanted} as application/problem+json, got ${describeSeen(answer)}`);
  if (code !== undefined && codeOf(answer.json) !== code)
    broken(`wanted ${wanted}, got ${describeSeen(answer)}`);
  return answer.json;
}

/** The last part of `type`, or a member `code`. */
export function codeOf(problem: Readonly<Record<string, unknown>>): string | undefined {
  const { type, code } = problem;
  if (typeof type === 'string' && type !== 'about:blank') return type.split(/[:/#]/).at(-1);
  return typeof code === 'string' ? code : undefined;
}

/** The resources that receipts of this kind name, in batches too. */
export function targetsOf(answers: readonly Seen[], kind: string): ReadonlySet<string> {
  const targets = new Set<string>();
  const note = (body: unknown) => {
    const receipt = isRecord(body) ? body['receipt'] : undefined;
    if (isRecord(receipt) && receipt['kind'] === kind && typeof receipt['target'] === 'string')
      targets.add(receipt['target']);
  };
  for (const { json } of answers) {
    note(json);
    const parts = json?.['answers'];
    if (Array.isArray(parts)) for (const part of parts) note(isRecord(part) ? part['body'] : undefined);
  }
  return targets;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown, least: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least;
}
