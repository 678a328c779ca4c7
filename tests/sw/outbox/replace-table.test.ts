/**
 * The replace table, row by row: cases are made from the table as data (T33), carried out by the outbox over the
 * in-memory store, and judged by what is stored afterwards.
 */
import { describe, expect, it, test } from 'vitest';
import type { CommandInput } from '../../../shared/command.ts';
import { HoldfastError } from '../../../shared/errors.ts';
import type { CommandKind, Row } from '../../../shared/row.ts';
import { REPLACE_TABLE, type Rule, ruleFor } from '../../../sw/outbox/replace-table.ts';
import { isResultUnknown, type Standing, standingOf } from '../../../sw/outbox/standing.ts';
import {
  CONDITIONS,
  type Condition,
  LEASE_MS,
  type OutboxFixture,
  outboxFixture,
} from '../../support/outbox-fixture.ts';

const KINDS: readonly {
  readonly key: 'id' | 'pending' | 'document';
  readonly kinds: readonly CommandKind[];
}[] = [
  { key: 'id', kinds: ['update', 'delete'] },
  { key: 'pending', kinds: ['create', 'update', 'delete'] },
  { key: 'document', kinds: ['put', 'remove'] },
];
const STANDINGS: readonly Standing[] = ['unsent', 'refused', 'in_flight', 'in_doubt', 'doubtful'];
const conditions = Object.keys(CONDITIONS) as Condition[];

const targetOf = (key: 'id' | 'pending' | 'document'): CommandInput['target'] =>
  key === 'pending' ? { type: 'pending', origin: 'c1' } : { type: 'id', id: 'w1' };

/** Stores a row of that kind in that condition, whatever the table would have said of the command. */
async function plant(
  { store, clock }: OutboxFixture,
  seq: number,
  kind: CommandKind,
  condition: Condition,
  key: 'id' | 'pending' | 'document',
): Promise<Row> {
  const id = kind === 'create' ? 'c1' : `e${seq}`;
  const target = targetOf(key) ?? { type: 'id', id: 'w1' };
  const isIntent = key === 'pending' && kind !== 'create';
  const hasBody = kind !== 'delete' && kind !== 'remove';
  const owner = 'ann';
  const family = key === 'document' ? 'plan' : 'workout';
  const rowKey = { owner, family, target };
  const [expected = []] = await store.readKeys([rowKey]);
  const [result] = await store.commit([
    {
      owner,
      reason: 'enqueue',
      keys: [rowKey],
      expected,
      write: [
        {
          format: 1,
          id,
          origin: id,
          ...rowKey,
          kind,
          savedAt: seq,
          requestHash: `hash ${id}`,
          ...(hasBody && { bodyId: id, bodyDigest: `digest ${id}`, bodySize: 1 }),
          evidence: { attemptCount: 0 },
          ...(isIntent && { successorOf: 'c1' }),
          ...(kind === 'create' && { sourceRef: 'from here' }),
          tags: [`tag ${id}`],
          ...({ state: 'queued', doubt: false, ...CONDITIONS[condition](clock.now()) } as const),
        },
      ],
      bodies: hasBody ? [{ bodyId: id, body: { v: id } }] : [],
      remove: [],
      outcomes: [],
      durability: 'strict',
    },
  ]);
  if (result?.type !== 'committed' || !result.rows[0]) throw new Error('not planted');
  return result.rows[0];
}

const standing = (fixture: OutboxFixture, row: Row): Standing =>
  standingOf(row, { now: fixture.clock.now(), leaseMs: () => LEASE_MS });

/** What the table and the sentence before it ask of these earlier rows, told independently of the planner. */
function expectation(
  fixture: OutboxFixture,
  command: CommandKind,
  on: 'id' | 'pending',
  earlier: readonly Row[],
) {
  const lines = earlier.map((row) => {
    const rule = ruleFor({ command, on, earlier: { kind: row.kind, standing: standing(fixture, row) } });
    if (!rule) throw new Error('a hole in the table');
    return { row, rule };
  });
  if (on === 'pending' && command !== 'create' && !earlier.some((row) => row.kind === 'create')) {
    const none = ruleFor({ command, on, earlier: undefined, end: 'unknown' });
    if (none?.id !== 'R28') throw new Error('not R28');
  }
  const is = (verdict: Rule['verdict']) => lines.find(({ rule }) => rule.verdict === verdict);
  const refusing = lines.find(({ rule }) => rule.refusal);
  if (refusing) return { action: refusing.rule.refusal, removed: [], kept: earlier };
  if (is('drop')) return { action: 'dropped', removed: earlier, kept: [] };
  const last = earlier.at(-1);
  const answer = lines.find(({ rule, row }) => rule.verdict === 'answer' && row === last);
  if (answer) return { action: 'existing', removed: [], kept: earlier, stands: answer.row };
  const unknownIntent =
    on === 'pending' &&
    earlier.some((row) => row.kind === 'update' && isResultUnknown(standing(fixture, row)));
  const rewrites = is('merge') !== undefined && !unknownIntent;
  const goes = ({ rule }: { rule: Rule }) =>
    rule.verdict === 'remove' || (rule.verdict === 'merge' && rewrites);
  const removed = lines.filter(goes).map(({ row }) => row);
  const kept = earlier.filter((row) => !removed.includes(row));
  const waitsFor = lines.findLast(({ rule }) => rule.verdict === 'keep' || rule.verdict === 'answer')?.row;
  const intent = on === 'pending' && command !== 'create';
  return {
    action: rewrites ? 'merged' : intent ? 'intent' : 'queued',
    removed,
    kept,
    successorOf: rewrites ? undefined : intent ? 'c1' : waitsFor?.origin,
  };
}

async function check(
  key: 'id' | 'pending' | 'document',
  command: CommandKind,
  planted: readonly [CommandKind, Condition][],
) {
  const fixture = await outboxFixture();
  const earlier: Row[] = [];
  for (const [index, [kind, condition]] of planted.entries())
    earlier.push(await plant(fixture, index + 1, kind, condition, key));
  const on = key === 'pending' ? 'pending' : 'id';
  const expected = expectation(fixture, command, on, earlier);
  const before = await fixture.everything();
  const isCreate = command === 'create';
  const input: Partial<CommandInput> = {
    id: isCreate ? 'c1' : 'new',
    kind: command,
    family: key === 'document' ? 'plan' : 'workout',
    ...(!isCreate && { target: targetOf(key) }),
    tags: ['tag new'],
  };
  let action: string | undefined;
  try {
    const answer = await fixture.enqueue(input);
    action = answer.action;
    if ('stands' in expected) expect(answer.row).toEqual(expected.stands);
    expect([...answer.removed].sort()).toEqual(expected.removed.map(({ id }) => id).sort());
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    action = error.code;
  }
  expect(action).toBe(expected.action);
  const after = await fixture.rows();
  const kept = after.filter((row) => earlier.some(({ id }) => id === row.id));
  expect(kept).toEqual(expected.kept);
  const written = after.filter((row) => !kept.includes(row));
  if (action === 'target_deleted') expect(await fixture.everything()).toEqual(before);
  expect(written).toHaveLength(['existing', 'dropped', 'target_deleted'].includes(action ?? '') ? 0 : 1);
  const [row] = written;
  if (row) expect(row.successorOf).toBe(expected.successorOf);
  if (action === 'merged') {
    const create = earlier.find((other) => other.kind === 'create');
    expect(row).toMatchObject({ kind: 'create', origin: 'c1', seq: create?.seq, savedAt: create?.savedAt });
    expect(row?.id).not.toBe('c1');
  } else if (row) expect(row).toMatchObject({ id: input.id, kind: command, state: 'queued', doubt: false });
  const ends = await fixture.store.findEnds(expected.removed.map(({ id }) => id));
  const end = action === 'dropped' ? 'dropped' : action === 'merged' ? 'merged' : 'replaced';
  for (const entry of ends) expect(entry).toMatchObject({ end, ...(row && { by: row.id }) });
}

describe('the replace table', () => {
  it('[T33] has exactly one line for every command and earlier row that can share a key', () => {
    for (const { key, kinds } of KINDS)
      for (const command of kinds)
        for (const kind of kinds)
          for (const state of STANDINGS) {
            const on = key === 'pending' ? 'pending' : 'id';
            const matching = REPLACE_TABLE.filter(
              (rule) =>
                rule.command.includes(command) &&
                (rule.on === undefined || rule.on === on) &&
                rule.earlier?.includes(kind) &&
                rule.standing?.includes(state),
            );
            expect([key, command, kind, state, ...matching.map(({ id }) => id)]).toHaveLength(5);
          }
  });

  it('[T33] names the lines of the contract, each at least once', () => {
    expect([...new Set(REPLACE_TABLE.map(({ id }) => id))].sort()).toEqual(
      [8, 10, ...Array.from({ length: 22 }, (_, i) => i + 12), 37].map((n) => `R${n}`).sort(),
    );
  });

  describe.each(KINDS)('on a key of type $key', ({ key, kinds }) => {
    const on = key === 'pending' ? 'pending' : 'id';
    // A creation has an id of its own, and nobody can send it twice: its repeats are R9's.
    const commands = kinds.filter((kind) => kind !== 'create');
    const singles = commands.flatMap((command) =>
      kinds.flatMap((kind) => conditions.map((condition) => ({ command, kind, condition }))),
    );
    const idsOf = (command: CommandKind, kind: CommandKind, condition: Condition): string => {
      const row = { ...ROW, kind, ...CONDITIONS[condition](NOW) } as Row;
      const state = standingOf(row, { now: NOW, leaseMs: () => LEASE_MS });
      return ruleFor({ command, on, earlier: { kind, standing: state } })?.id ?? '?';
    };

    test.each(singles.map((one) => ({ ...one, id: idsOf(one.command, one.kind, one.condition) })))(
      '[$id, R7, A58] $command behind one $kind that is $condition',
      async ({ command, kind, condition }) => {
        await check(key, command, [[kind, condition]]);
      },
    );

    // One test per command and pair of kinds: each goes through every pair of conditions.
    const pairs = commands.flatMap((command) =>
      kinds.flatMap((first) =>
        kinds.flatMap((second) => (second === 'create' ? [] : [{ command, first, second }])),
      ),
    );
    test.each(pairs)(
      '[T33, A58] $command behind $first and $second, in all their conditions',
      async ({ command, first, second }) => {
        for (const one of conditions)
          for (const other of conditions)
            await check(key, command, [
              [first, one],
              [second, other],
            ]);
      },
    );
  });
});

const NOW = 1_700_000_000_000;
const ROW = { family: 'workout', state: 'queued', doubt: false } as const;
