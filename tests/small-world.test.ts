/** T32: every interleaving of a small world, with T30's invariants checked in each of its states. */
import { describe, expect, it } from 'vitest';
import type { Scenario, World } from './support/small-world.ts';
import { isAtRest, startWorld, stepsOf, tokenOf } from './support/small-world.ts';

const resource = { type: 'id', id: 'w1' } as const;
const creation = { type: 'pending', origin: 'c1' } as const;

/** `SMALL_WORLD=whole` adds a lost message everywhere: some 1.5 million states, and minutes. */
const WHOLE = process.env['SMALL_WORLD'] === 'whole';
const COMMON = { losses: WHOLE ? 1 : 0, ticks: 1 };

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'an update, then an update on the same revision',
    first: { id: 'u1', kind: 'update', target: resource, expectedRevision: 1 },
    second: { id: 'u2', kind: 'update', target: resource, expectedRevision: 1 },
    locks: false,
    ...COMMON,
  },
  {
    name: 'an update, then a delete',
    first: { id: 'u1', kind: 'update', target: resource, expectedRevision: 1 },
    second: { id: 'd2', kind: 'delete', target: resource, expectedRevision: 1 },
    locks: true,
    ...COMMON,
    ticks: WHOLE ? 1 : 0,
  },
  {
    name: 'a put, then a put',
    first: { id: 'p1', kind: 'put', target: { type: 'id', id: 'day' } },
    second: { id: 'p2', kind: 'put', target: { type: 'id', id: 'day' } },
    locks: false,
    ...COMMON,
  },
  {
    name: 'a creation, then an update of it',
    first: { id: 'c1', kind: 'create', target: creation },
    second: { id: 'u2', kind: 'update', target: creation },
    locks: true,
    ...COMMON,
    ticks: WHOLE ? 1 : 0,
  },
  {
    name: 'a creation, then its removal',
    first: { id: 'c1', kind: 'create', target: creation },
    second: { id: 'd2', kind: 'delete', target: creation },
    locks: false,
    ...COMMON,
  },
];

/** Where a command stands: its row, or how it ended, followed to what took over. */
function endOf(world: World, id: string): string {
  const stored = world.rows.find((row) => row.id === id);
  if (stored) return stored.state;
  const end = world.ends.findLast((entry) => entry.id === id);
  if (end?.by !== undefined) return endOf(world, end.by);
  return end?.end ?? 'lost';
}

function violations(world: World, scenario: Scenario): readonly string[] {
  const found: string[] = [];
  const enqueued = [scenario.first, ...(world.person === 'done' ? [scenario.second] : [])];
  for (const { id } of enqueued) if (endOf(world, id) === 'lost') found.push(`T30.1: ${id} is lost`);
  for (const { id, end } of world.ends)
    if (end === 'committed' && !world.ledger.some((receipt) => receipt.id === id))
      found.push(`T30.1: ${id} is committed, and the server does not have it`);
  if (new Set(world.applied).size !== world.applied.length)
    found.push(`T30.2: applied twice: ${world.applied.join(' ')}`);
  const order = world.applied.map((origin) => (origin === scenario.first.id ? 0 : 1));
  if (order.some((place, at) => at > 0 && place < (order[at - 1] ?? 0)))
    found.push(`T30.3: out of order: ${world.applied.join(' ')}`);
  const committed = world.told.filter(([, type]) => type === 'committed').map(([id]) => id);
  if (new Set(committed).size !== committed.length) found.push(`D29: told twice: ${committed.join(' ')}`);
  const blocked = world.rows.filter((row) => row.state === 'blocked');
  if (blocked.length > 0) found.push(`nothing here blocks: ${blocked.map(({ id }) => id).join(' ')}`);
  if (new Set(world.rows.map(({ seq }) => seq)).size !== world.rows.length) found.push('R6: a place twice');
  return found;
}

/** What must hold between a state and the next. */
function brokenStep(before: World, after: World, by: string | undefined): string | undefined {
  for (const was of before.rows) {
    const row = after.rows.find((other) => other.id === was.id);
    const isTaken = was.state === 'sending' && row?.state !== 'sending';
    if (isTaken && !was.receipt && was.claim?.host !== by)
      return `C10: ${by} ended ${was.claim?.host}'s claim`;
  }
  for (const row of after.rows) {
    const was = before.rows.find((other) => other.id === row.id);
    const [fence, wasFence] = [row.claim?.fence ?? 0, was?.claim?.fence ?? 0];
    if (was && fence < wasFence) return `C15: the fence of ${row.id} fell`;
    if (was && row.claim?.host !== was.claim?.host && fence === wasFence)
      return `C15: two claims of ${row.id} at fence ${fence}`;
    if (!was && before.ends.some((end) => end.id === row.id)) return `C16: ${row.id} came back`;
  }
  return undefined;
}

/** Far more than any scenario has: what exceeds it goes round in circles that are never the same. */
const MOST_STATES = WHOLE ? 2_000_000 : 200_000;

interface Search {
  readonly states: number;
  readonly rests: number;
  /** The first violation, and the way there. */
  readonly broken: readonly string[];
  /** A state from which rest cannot be reached, and the way there. */
  readonly stuck: readonly string[];
}

function search(scenario: Scenario): Search {
  const start = startWorld(scenario);
  const seen = new Map<string, number>([[tokenOf(start), 0]]);
  const worlds: World[] = [start];
  const cameFrom: { readonly from: number; readonly by: string }[] = [{ from: -1, by: 'start' }];
  const leadsTo: number[][] = [];
  const rests: number[] = [];
  const path = (index: number): string[] => {
    const names: string[] = [];
    for (let at = index; at > 0; at = cameFrom[at]?.from ?? 0) names.unshift(cameFrom[at]?.by ?? '');
    return names;
  };
  const broken = (): readonly string[] => {
    for (let index = 0; index < worlds.length; index++) {
      const world = worlds[index];
      if (!world) continue;
      if (index > MOST_STATES) return ['there is no end to it', ...path(index)];
      const found = violations(world, scenario);
      if (found.length > 0) return [...path(index), ...found];
      if (isAtRest(world)) rests.push(index);
      for (const { name, next, by } of stepsOf(world, scenario)) {
        const fault = brokenStep(world, next, by);
        if (fault !== undefined) return [...path(index), name, fault];
        const token = tokenOf(next);
        const known = seen.get(token) ?? worlds.length;
        if (known === worlds.length) {
          seen.set(token, known);
          worlds.push(next);
          cameFrom.push({ from: index, by: name });
        }
        const sources = leadsTo[known] ?? [];
        sources.push(index);
        leadsTo[known] = sources;
      }
    }
    return [];
  };
  const faults = broken();
  // T30.5: backwards from rest, every state must be met.
  const reaches = new Set(rests);
  for (const index of reaches) for (const source of leadsTo[index] ?? []) reaches.add(source);
  const stuck = faults.length > 0 ? -1 : worlds.findIndex((_, index) => !reaches.has(index));
  return {
    states: worlds.length,
    rests: rests.length,
    broken: faults,
    stuck: stuck < 0 ? [] : [...path(stuck), JSON.stringify(worlds[stuck]?.rows)],
  };
}

describe('a small world, searched whole', () => {
  it.each(SCENARIOS)(
    '[T32, T30] keeps every promise in every interleaving: $name',
    { timeout: WHOLE ? 1_800_000 : 120_000 },
    (scenario) => {
      const { states, rests, broken, stuck } = search(scenario);
      console.log(`small world, ${scenario.name}: ${states} states, ${rests} at rest`);
      expect(broken).toEqual([]);
      expect(stuck).toEqual([]);
      expect(rests).toBeGreaterThan(0);
      expect(states).toBeGreaterThan(1_000);
    },
  );
});
