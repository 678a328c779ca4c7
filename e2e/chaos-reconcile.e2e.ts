/** The judge of the chaos runs sees what it is there to see (T30). Needs no browser. */
import { expect, test } from 'vitest';
import type { Settled } from '../shared/outcome.ts';
import { receiptFixture, sentFixture } from '../tests/support/receipt-fixture.ts';
import type { Chaos, Command } from './chaos/play-chaos.ts';
import { reconcile } from './chaos/reconcile.ts';

const told = (n: number, kind: Command['kind'] = 'put'): Command => ({
  id: `c${n}`,
  n,
  kind,
  about: 'monday',
  state: 'told',
  toldAt: n,
});
const uploaded = (id: string): Settled => ({
  type: 'uploaded',
  id,
  receipt: receiptFixture(sentFixture({ id })),
});

interface Story {
  readonly commands: readonly Command[];
  readonly ends: Readonly<Record<string, Settled>>;
  readonly left?: Chaos['left'];
  readonly applied: readonly string[];
}

function judge({ commands, ends, left = [], applied }: Story): readonly string[] {
  const effects = applied.map((id, i) => ({
    n: i + 1,
    owner: 'ada',
    id,
    requestHash: 'h',
    family: 'plan',
    kind: 'plan.put',
    target: 'monday',
    revision: i + 1,
  }));
  const counts = [...new Set(applied)].map((id) => ({
    owner: 'ada',
    id,
    count: applied.filter((other) => other === id).length,
  }));
  const chaos = { commands, left, ends: new Map(Object.entries(ends)) };
  return reconcile(chaos, { effects, applied: counts }).map((broken) => broken.split(':')[0] ?? '');
}

const both = { c1: uploaded('c1'), c2: uploaded('c2') };

test.each<Story & { readonly when: string; readonly broken: readonly string[] }>([
  {
    when: 'nothing, where all is well',
    commands: [told(1), told(2)],
    ends: both,
    applied: ['c1', 'c2'],
    broken: [],
  },
  {
    when: 'nothing, where the later took over the earlier',
    commands: [told(1), told(2)],
    ends: { c1: uploaded('c2'), c2: uploaded('c2') },
    applied: ['c2'],
    broken: [],
  },
  {
    when: 'nothing, where one was asked before the other was told',
    commands: [{ ...told(1), toldAt: 2 }, told(2)],
    ends: both,
    applied: ['c2', 'c1'],
    broken: [],
  },
  {
    when: 'nothing, where a row waits for a person',
    commands: [told(1)],
    ends: { c1: { type: 'blocked', id: 'c1', code: 'refused' } },
    left: [{ id: 'c1', state: 'blocked' }],
    applied: [],
    broken: [],
  },
  { when: 'a save that came to nothing', commands: [told(1)], ends: {}, applied: [], broken: ['T30.1'] },
  {
    when: 'a receipt for what the server does not have',
    commands: [told(1)],
    ends: { c1: uploaded('c1') },
    applied: [],
    broken: ['T30.1'],
  },
  {
    when: 'a blocked row that is gone',
    commands: [told(1)],
    ends: { c1: { type: 'blocked', id: 'c1', code: 'refused' } },
    applied: [],
    broken: ['T30.1'],
  },
  {
    when: 'an ending by a deletion that nobody asked for',
    commands: [told(1)],
    ends: { c1: { type: 'already_gone', id: 'c1' } },
    applied: [],
    broken: ['T30.1'],
  },
  {
    when: 'a request that was applied twice',
    commands: [told(1)],
    ends: { c1: uploaded('c1') },
    applied: ['c1', 'c1'],
    broken: ['T30.2'],
  },
  {
    when: 'a command that was applied under two ids',
    commands: [told(1)],
    ends: { c1: uploaded('c1') },
    applied: ['copy', 'c1'],
    broken: ['T30.2'],
  },
  {
    when: 'a command that was overtaken',
    commands: [told(1), told(2)],
    ends: both,
    applied: ['c2', 'c1'],
    broken: ['T30.3'],
  },
  {
    when: 'a row that does not come to rest',
    commands: [],
    ends: {},
    left: [{ id: 'c1', state: 'queued' }],
    applied: [],
    broken: ['T30.5'],
  },
])('[T30] finds $when', ({ broken, ...story }) => {
  expect(judge(story)).toEqual(broken);
});
