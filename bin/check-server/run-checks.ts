/** Runs the checks one after another, tidies up, and says what holds. */
import type { Check } from './check.ts';
import type { CheckConfig } from './config.ts';
import { httpChecks } from './http-checks.ts';
import { Broken, targetsOf } from './judge.ts';
import { ledgerChecks } from './ledger-checks.ts';
import { createProbe, type Probe, UnreachableError } from './probe.ts';

export const CHECKS: readonly Check[] = [
  ...ledgerChecks,
  // Last, because it looks at everything that was answered.
  ...httpChecks.filter((check) => check.name !== 'retry-after'),
  ...httpChecks.filter((check) => check.name === 'retry-after'),
];

export type CheckEnd =
  | { readonly type: 'holds' }
  | { readonly type: 'broken'; readonly saw: string }
  | { readonly type: 'not_offered'; readonly why: string };

export type CheckResult = Pick<Check, 'name' | 'clause' | 'title' | 'advice' | 'weight'> & {
  readonly end: CheckEnd;
};

/** @throws UnreachableError where nothing can be checked */
export async function runChecks(
  base: string,
  config: CheckConfig,
  checks: readonly Check[] = CHECKS,
): Promise<readonly CheckResult[]> {
  const probe = await createProbe(base, config);
  await assertReachable(probe, base);
  const results: CheckResult[] = [];
  for (const check of checks) {
    const { name, clause, title, advice, weight } = check;
    results.push({ name, clause, title, advice, weight, end: await runCheck(check, probe) });
  }
  await tidyUp(probe);
  return results;
}

/** A broken `must` fails the server. */
export function isPassed(results: readonly CheckResult[]): boolean {
  return results.every(({ weight, end }) => weight === 'should' || end.type !== 'broken');
}

async function runCheck(check: Check, probe: Probe): Promise<CheckEnd> {
  const why = check.missing?.(probe);
  if (why !== undefined) return { type: 'not_offered', why };
  try {
    await check.run(probe);
    return { type: 'holds' };
  } catch (error) {
    if (error instanceof Broken) return { type: 'broken', saw: error.message };
    throw error;
  }
}

async function assertReachable(probe: Probe, base: string): Promise<void> {
  const answer = await probe.get(probe.config.list?.url ?? probe.config.receipts.replaceAll('{id}', 'none'));
  if (answer.status === 0) throw new UnreachableError(`No server answers at ${base}: ${answer.text}`);
}

/** Deletes what the checks created; what is gone already says so, and that is as good. */
async function tidyUp(probe: Probe): Promise<void> {
  const { create, delete: remove } = probe.config;
  for (const target of targetsOf(probe.seen(), create.kind))
    await probe.attempt(probe.command(remove, { target }));
}
