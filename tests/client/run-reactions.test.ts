import { describe, expect, it } from 'vitest';
import type { PageStep } from '../../client/page-reactions.ts';
import { runReactions } from '../../client/run-reactions.ts';
import { emptySnapshot, type ViewSnapshot } from '../../client/view-snapshot.ts';
import type { JournalPage } from '../../shared/answers.ts';
import type { JournalEntry, OutcomeEnd } from '../../shared/outcome.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';
import { createFakeLocks } from '../support/fake-locks.ts';
import { createFakeRealm } from '../support/fake-realm.ts';

const SHOWN: ViewSnapshot = {
  ...emptySnapshot({
    protocol: 1,
    release: 'r',
    host: 'h',
    kind: 'worker',
    activeOwner: 'ann',
    awaitsSnapshot: false,
    triggers: { sync: 'missing', periodicSync: false },
  }),
  owner: 'ann',
};
const BLOCKED: OutcomeEnd = { type: 'blocked', code: 'rejected' };

/** One browser: a journal, what pages keep, and pages. */
function browser() {
  const clock = createManualClock();
  const locks = createFakeLocks();
  const kept = createFakeRealm(clock).localStorage;
  let epoch = 'e1';
  let entries: JournalEntry[] = [];
  /** Up to here outcomes are gone. */
  let gone = 0;
  const pages = new Set<() => void>();
  let reads = 0;

  const journal = async (after: { readonly epoch: string; readonly n: number } | undefined) => {
    reads++;
    const last = entries.at(-1)?.n ?? 0;
    const isLost = after !== undefined && after.epoch !== epoch;
    const from = isLost ? 0 : (after?.n ?? last);
    const found = entries.filter(({ n }) => n > Math.max(from, gone)).slice(0, 3);
    return { epoch, entries: found, truncated: isLost || from < gone, last } satisfies JournalPage;
  };

  function open(given: { readonly hasStorage?: boolean } = {}) {
    const realm = createFakeRealm(clock, { locks });
    const listeners = new Set<() => void>();
    let snapshot = SHOWN;
    const tell = (): void => {
      for (const listener of listeners) listener();
    };
    pages.add(tell);
    const applied: PageStep[] = [];
    const told: PageStep[] = [];
    const fails = { apply: false };
    let readAgain = 0;
    const end = runReactions(
      {
        journal,
        view: {
          getSnapshot: () => snapshot,
          subscribe(listener) {
            listeners.add(listener);
            return () => listeners.delete(listener);
          },
        },
      },
      {
        apply(steps) {
          if (fails.apply) throw new Error('The app has a mistake');
          applied.push(...steps);
        },
        readAgain: () => readAgain++,
        tell: (step) => told.push(step),
        realm: {
          document: realm.document,
          navigator: realm.navigator,
          Date: realm.Date,
          setTimeout: realm.setTimeout,
          get localStorage() {
            if (given.hasStorage === false) throw new DOMException('Forbidden', 'SecurityError');
            return kept;
          },
        },
      },
    );
    return {
      applied,
      told,
      fails,
      realm,
      end,
      show(part: Partial<ViewSnapshot>) {
        snapshot = { ...snapshot, ...part };
        tell();
      },
      get readAgain() {
        return readAgain;
      },
    };
  }

  return {
    clock,
    open,
    async ends(...outcomes: readonly { readonly id: string; readonly end: OutcomeEnd }[]) {
      for (const { id, end } of outcomes) {
        const target = { type: 'id', id: 'w1' } as const;
        const row = {
          id,
          origin: id,
          seq: 1,
          owner: 'ann',
          family: 'workout',
          kind: 'update',
          target,
        } as const;
        const n = Math.max(gone, entries.at(-1)?.n ?? 0) + 1;
        entries.push({ n, at: 0, outcome: { ...end, row } });
      }
      for (const tell of pages) tell();
      await clock.settle();
    },
    forget() {
      gone = entries.at(-1)?.n ?? gone;
      entries = [];
    },
    loseDatabase() {
      epoch = 'e2';
      entries = [];
      gone = 0;
    },
    get reads() {
      return reads;
    },
  };
}

const badge = (id: string): PageStep => ({ type: 'badge', id, code: 'rejected' });
const notice = (...ids: string[]): PageStep => ({ type: 'notice', ids });

describe('reactions', () => {
  it('[D41, D42] are made by every page, and the person is told by one', async () => {
    const { open, ends, clock } = browser();
    const [first, second] = [open(), open()];
    await clock.settle();
    await ends({ id: 'i1', end: BLOCKED });
    expect([first.applied, second.applied]).toEqual([[badge('i1')], [badge('i1')]]);
    expect([...first.told, ...second.told]).toEqual([notice('i1')]);
  });

  it('[D41, D42] of several pages the one that is looked at tells', async () => {
    const { open, ends, clock } = browser();
    const [hidden, seen] = [open(), open()];
    hidden.realm.setHidden(true);
    await clock.settle();
    await ends({ id: 'i1', end: BLOCKED });
    await clock.advance(5_000);
    expect([hidden.told, seen.told]).toEqual([[], [notice('i1')]]);
    seen.end();
    await ends({ id: 'i2', end: BLOCKED });
    await clock.advance(5_000);
    expect([hidden.told, seen.told]).toEqual([[notice('i2')], [notice('i1')]]);
  });

  it('[D41, D42] to what ended while no page was open are made when one opens, and told once', async () => {
    const { open, ends, clock } = browser();
    const before = open();
    await clock.settle();
    await ends({ id: 'i1', end: BLOCKED });
    before.end();
    await ends({ id: 'i2', end: BLOCKED });
    const after = open();
    await clock.settle();
    expect(after.applied).toEqual([badge('i2')]);
    expect([before.told, after.told]).toEqual([[notice('i1')], [notice('i2')]]);
  });

  it('[D42] begin with what ends from now on where the browser has not been told anything yet', async () => {
    const { open, ends, clock } = browser();
    await ends({ id: 'i1', end: BLOCKED });
    const page = open();
    await clock.settle();
    expect([page.applied, page.told]).toEqual([[], []]);
  });

  it('[D42] a drain is told about once, at its end, and its outcomes are read now and then', async () => {
    const world = browser();
    const page = world.open();
    await world.clock.settle();
    page.show({ progress: { running: true, done: 0, total: 20 } });
    await world.clock.settle();
    const { reads } = world;
    for (const id of ['i1', 'i2', 'i3', 'i4']) await world.ends({ id, end: BLOCKED });
    expect(world.reads).toBe(reads);
    await world.clock.advance(250);
    await world.ends({ id: 'i5', end: BLOCKED });
    expect(page.applied).toEqual(['i1', 'i2', 'i3', 'i4', 'i5'].map(badge));
    expect(page.told).toEqual([]);
    page.show({ progress: { running: false, done: 20, total: 20 } });
    await world.clock.settle();
    expect(page.told).toEqual([notice('i1', 'i2', 'i3', 'i4', 'i5')]);
  });

  it.each([
    { what: 'outcomes are gone', lose: 'forget' },
    { what: 'the database is another one', lose: 'loseDatabase' },
  ] as const)('[D41] everything is read again where $what', async ({ lose }) => {
    const world = browser();
    const page = world.open();
    await world.clock.settle();
    await world.ends({ id: 'i1', end: { type: 'cancelled' } });
    await world.ends({ id: 'i2', end: { type: 'cancelled' } });
    page.end();
    await world.ends({ id: 'i3', end: BLOCKED });
    world[lose]();
    await world.ends({ id: 'i4', end: BLOCKED });
    const later = world.open();
    await world.clock.settle();
    expect(later.readAgain).toBe(1);
    expect(later.applied).toEqual([badge('i4')]);
    expect(later.told).toEqual([notice('i4')]);
  });

  it('[D43] end with the account that is shown, and go on with it', async () => {
    const { open, ends, clock } = browser();
    const page = open();
    await clock.settle();
    page.show({ owner: undefined });
    await ends({ id: 'i1', end: BLOCKED });
    expect(page.applied).toEqual([]);
    page.show({ owner: 'ann' });
    await clock.settle();
    expect([page.applied, page.told]).toEqual([[badge('i1')], [notice('i1')]]);
  });

  it('[D42] a mistake of the app is reported and stops nothing', async () => {
    const { open, ends, clock } = browser();
    const page = open();
    await clock.settle();
    page.fails.apply = true;
    await ends({ id: 'i1', end: BLOCKED });
    await expect(clock.advance(0)).rejects.toThrow('The app has a mistake');
    page.fails.apply = false;
    await ends({ id: 'i2', end: BLOCKED });
    expect(page.applied).toEqual([badge('i2')]);
    expect(page.told).toEqual([notice('i1'), notice('i2')]);
  });

  it('[D42] go on where storage is forbidden, each page for itself', async () => {
    const { open, ends, clock } = browser();
    const page = open({ hasStorage: false });
    await clock.settle();
    await ends({ id: 'i1', end: BLOCKED });
    await ends({ id: 'i2', end: BLOCKED });
    expect(page.applied).toEqual([badge('i1'), badge('i2')]);
    expect(page.told).toEqual([notice('i1'), notice('i2')]);
  });
});
