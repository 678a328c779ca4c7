/**
 * A seeded simulator of everything that may go wrong (T31): several hosts of one outbox, killed, frozen or replaced
 * between any two steps, over a store that aborts, hangs, loses power or is lost, a network and a server at their
 * worst, clocks that jump, accounts that change, and a release from before there were claims. After every step, and
 * at rest, what really happened is held against what the outbox promises (T30).
 *
 * ```ts
 * for (let seed = 1; seed <= 1_000; seed++) {
 *   const { broken } = await simulate(seed, { subject: { definition, ports } });
 *   if (broken.length > 0) throw new Error(await explainSeed(seed, { subject: { definition, ports } }));
 * }
 * ```
 */
import { type Played, play } from './simulation/play.ts';
import { type FaultGroup, type Script, writeScript } from './simulation/script.ts';
import { shrink } from './simulation/shrink.ts';
import type { Subject } from './simulation/subject.ts';

export type { Played } from './simulation/play.ts';
export { FAULT_GROUPS, type FaultGroup, type Script } from './simulation/script.ts';
export { DEFAULT_SUBJECT, type Subject } from './simulation/subject.ts';

export interface SimulationOptions {
  /** What is simulated. Default: patches, whole records and documents. */
  readonly subject?: Subject | undefined;
  /** About how many actions a story has. Default 40. */
  readonly length?: number | undefined;
  /** What may befall it; each seed takes some of them. Default: everything. */
  readonly groups?: readonly FaultGroup[] | undefined;
}

/** One story. The same seed and options are the same story, step for step. */
export function simulate(seed: number, options: SimulationOptions = {}): Promise<Played> {
  return play(scriptOf(seed, options), options.subject);
}

/** Shrinks a failing seed and tells its story; empty if it keeps every promise. */
export async function explainSeed(seed: number, options: SimulationOptions = {}): Promise<string> {
  const first = await simulate(seed, options);
  if (first.broken.length === 0) return '';
  return tellStory(await shrink(first, options.subject), options.subject);
}

/** The trace of a script: every action and every step, then what was broken. */
export async function tellStory(script: Script, subject?: Subject | undefined): Promise<string> {
  const lines: string[] = [];
  const { broken } = await play(script, subject, (line) => lines.push(line));
  const head = `seed ${script.seed}, ${script.hosts} hosts, ${script.hasLocks ? 'with' : 'without'} locks`;
  return [head, ...lines, ...broken.map((what) => `BROKEN ${what}`)].join('\n');
}

function scriptOf(seed: number, { length, groups }: SimulationOptions): Script {
  return writeScript(seed, { ...(length !== undefined && { length }), ...(groups && { groups }) });
}
