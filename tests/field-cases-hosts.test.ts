/** Cases from public reports: a worker that is replaced, a newer release's rows, no store at all, a frozen page. */
import { IDBKeyRange } from 'fake-indexeddb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { connectOutbox } from '../client/connect-outbox.ts';
import type { Outbox } from '../client/outbox.ts';
import { OutboxUnavailableError } from '../shared/errors.ts';
import { defineOutbox, record } from '../shared/family.ts';
import type { Row } from '../shared/row.ts';
import { createManualClock, type ManualClock } from '../sw/testing/manual-clock.ts';
import { createFakeRealm } from './support/fake-realm.ts';
import { createLineWorld } from './support/line-world.ts';
import { readEverything, writeRaw } from './support/raw-database.ts';
import { openScripted, scriptedHosts } from './support/scripted-hosts.ts';
import { createScriptedIndexedDb, type ScriptedIndexedDb } from './support/scripted-indexed-db.ts';

const definition = defineOutbox({ workout: record() });
type Definition = typeof definition.families;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
  vi.unstubAllGlobals();
});

async function startLine() {
  const world = await createLineWorld(definition);
  ends.push(world.end);
  return world;
}

describe('a worker that is replaced while a request is open', () => {
  it.each([
    { when: 'on its way', isReceived: false },
    { when: 'with the old worker', isReceived: true },
  ])(
    '[W10, C6, A32] finishes what its predecessor began, and answers a call that was $when',
    async ({ isReceived }) => {
      const world = await startLine();
      const [x, y] = [await world.open(), await world.open()];
      const { server, clock, worker } = world;
      server.latencyMs = 8_000;
      const first = await world.run(x.outbox.workout.create({ kg: 1 }));
      while (server.requests.length === 0) await clock.advance(10);
      const startedAt = clock.now();
      const hold = isReceived ? world.store.holdNext('enqueue') : undefined;
      const saving = y.outbox.workout.create({ kg: 2 });
      await hold?.reached;
      worker.stop();
      hold?.release();
      const second = await world.run(saving);
      expect(clock.now() - startedAt).toBeLessThan(15_000);
      expect(worker.starts).toBe(2);

      for (const { outbox } of [x, y])
        for (const { id } of [first, second])
          expect(await world.run(outbox.settled(id, { final: true }))).toMatchObject({
            type: 'uploaded',
            receipt: { id },
          });
      expect(server.requestsOf(first.id)).toHaveLength(2);
      const ids = [first.id, second.id].sort();
      expect(server.applied.map(({ id }) => id).sort()).toEqual(ids);
      const { epoch } = await world.run(x.outbox.journal(undefined));
      const { entries } = await world.run(y.outbox.journal({ epoch, n: 0 }));
      const uploaded = entries.filter(({ outcome }) => outcome.type === 'committed');
      expect(uploaded.map(({ outcome }) => outcome.row.id).sort()).toEqual(ids);
    },
  );
});

describe('a newer release has written', () => {
  const rewrite = async (
    scripted: ScriptedIndexedDb,
    id: string | undefined,
    change: (row: Row) => object,
  ) => {
    const records = (await readEverything(scripted.honest, 'holdfast'))['rows'] ?? [];
    const [, record] = records.find(([, value]) => JSON.stringify(value).includes(`"id":"${id}"`)) ?? [];
    const { row, ...rest } = record as { readonly row: Row };
    await writeRaw(scripted.honest, 'rows', { ...rest, row: change(row) });
  };

  it('[R2, R3, S1, A33] its fields survive every write, and a row of its format is kept, counted, skipped', async () => {
    const hosts = await scriptedHosts();
    const { scripted, world, a } = hosts;
    const { row: made } = await hosts.create(60);
    const foreign = await hosts.create(1);
    await rewrite(scripted, made?.id, (row) => ({ ...row, mood: 'calm' }));
    await rewrite(scripted, foreign.row?.id, (row) => ({ ...row, format: 2 }));
    const foreignRecord = async () =>
      (await hosts.dump())['rows']?.find(([, value]) => JSON.stringify(value).includes('"format":2'));
    const kept = await foreignRecord();
    expect(kept).toBeDefined();
    expect(await hosts.rows()).toMatchObject([{ id: made?.id, mood: 'calm' }]);

    const target = { type: 'pending', origin: made?.id ?? '' } as const;
    const { row: edited } = await hosts.enqueue({ target, body: { kg: 61 } });
    expect(await hosts.rows()).toMatchObject([{ id: edited?.id, origin: made?.id, mood: 'calm' }]);
    await rewrite(scripted, edited?.id, (row) => ({
      ...row,
      evidence: { ...row.evidence, weather: 'dry' },
    }));
    const extra = { mood: 'calm', evidence: { weather: 'dry' } };
    world.server.latencyMs = 500;
    world.server.next({ type: 'status', status: 503 });
    const first = await hosts.begin(a, 1);
    expect(await hosts.rows()).toMatchObject([{ ...extra, state: 'sending', claim: { fence: 1 } }]);
    await hosts.run(first.ended);
    expect(await hosts.rows()).toMatchObject([{ ...extra, state: 'queued', notBefore: { by: 'engine' } }]);
    expect((await hosts.run(a.engine.waiting('ann'))).queued).toBe(2);
    await hosts.pass(60_000);
    await hosts.flush(a);

    expect(world.server.applied).toMatchObject([{ id: edited?.id, body: { kg: 61 } }]);
    expect(await hosts.rows()).toEqual([]);
    expect(await foreignRecord()).toEqual(kept);
    expect((await hosts.run(hosts.store.ownerFacts('ann'))).counts.queued).toBe(1);
    // W21: nobody is called back for a row that this release cannot send.
    expect((await hosts.run(a.engine.waiting('ann'))).queued).toBe(0);
  });

  it('[S1, S15, A33] a database of a higher version is not touched: typed errors, nothing deleted', async () => {
    const world = await startLine();
    const scripted = createScriptedIndexedDb();
    await new Promise<void>((resolve) => {
      const request = scripted.honest.open('holdfast', 2);
      request.onupgradeneeded = () => request.result.createObjectStore('later').put('kept', 'key');
      request.onsuccess = () => {
        request.result.close();
        resolve();
      };
    });
    const before = await readEverything(scripted.honest, 'holdfast');
    const { engine } = await world.start(openScripted(scripted, world));
    const command = { id: world.uuid(), owner: 'ann', family: 'workout', kind: 'create', body: {} } as const;
    const calls: readonly (() => Promise<unknown>)[] = [
      () => engine.signIn('ann'),
      () => engine.enqueue(command),
      () => engine.rows('ann', { limit: 9 }),
    ];
    for (const call of calls)
      await expect(world.clock.until(call())).rejects.toBeInstanceOf(OutboxUnavailableError);
    expect(await world.clock.until(engine.flush('ann', 'flush'))).toMatchObject({ stoppedBy: 'store' });
    expect(await readEverything(scripted.honest, 'holdfast')).toEqual(before);
  });
});

describe('a private window, in which IndexedDB refuses', () => {
  function refusing(): ScriptedIndexedDb {
    const scripted = createScriptedIndexedDb();
    const refusal = new DOMException('A mutation operation was attempted', 'InvalidStateError');
    scripted.onOpen(...Array<DOMException>(500).fill(refusal));
    return scripted;
  }

  /** Edits refuse, the view says why, signing out is answered. */
  async function expectNothingSaved(outbox: Outbox<Definition>, clock: ManualClock): Promise<void> {
    const calls: readonly (() => Promise<unknown>)[] = [
      () => outbox.family('workout').create({ kg: 1 }),
      () => outbox.family('workout').update({ type: 'id', id: 'w1' }, { kg: 2 }),
      () => outbox.flush(),
    ];
    for (const call of calls)
      await expect(clock.until(call())).rejects.toMatchObject({ code: 'outbox_unavailable' });
    await clock.until(
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (outbox.view.getSnapshot().storage.mode === 'no_database') resolve();
        };
        outbox.view.subscribe(look);
        look();
      }),
    );
    expect(outbox.view.getSnapshot()).toMatchObject({ rows: [], isReady: false });
    await expect(clock.until(outbox.signOut())).rejects.toMatchObject({ code: 'outbox_unavailable' });
  }

  it('[S15, W40, A42] a page with a worker connects, edits refuse, and the view says why', async () => {
    const world = await startLine();
    world.device.replace(openScripted(refusing(), world));
    const { outbox } = await world.open();
    await expectNothingSaved(outbox, world.clock);
    expect(world.server.requests).toEqual([]);
  });

  it('[S15, W40, A42] the engine in the page starts, edits refuse, and the view says why', async () => {
    const clock = createManualClock();
    vi.stubGlobal('indexedDB', refusing().indexedDB);
    vi.stubGlobal('IDBKeyRange', IDBKeyRange);
    vi.stubGlobal('navigator', { onLine: true });
    const send = vi.fn();
    const outbox = await connectOutbox(definition, {
      worker: 'page',
      owner: 'ann',
      name: 'private',
      realm: createFakeRealm(clock),
      fallback: () => ({ sender: { send } }),
    });
    ends.push(() => outbox.close());
    await expectNothingSaved(outbox, clock);
    expect(send).not.toHaveBeenCalled();
  });
});

describe('a page that is frozen inside a transaction of its own engine', () => {
  /** A frozen realm's timers do not go off. */
  const still = { after: () => () => undefined };

  it('[S10, A43] others get a typed time-out and succeed later; what it had begun is stored once', async () => {
    const hosts = await scriptedHosts();
    const { scripted, world, b } = hosts;
    const frozen = await hosts.join(still);
    scripted.onWrite('frozen');
    const own = hosts.enqueue({ kind: 'create', body: { kg: 1 } }, frozen);
    await hosts.settle();
    const startedAt = world.clock.now();
    await expect(hosts.enqueue({ kind: 'create', body: { kg: 2 } }, b)).rejects.toMatchObject({
      code: 'store_timeout',
    });
    // Two transactions, each with its limit.
    expect(world.clock.now() - startedAt).toBeLessThanOrEqual(16_000);

    scripted.release();
    const later = await hosts.enqueue({ kind: 'create', body: { kg: 3 } }, b);
    const { row } = await own;
    await hosts.flush(b);
    expect(world.server.applied.map(({ id }) => id)).toEqual([row?.id, later.row?.id]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[C6, S10, A43] in mid-claim it delays a drain, which ends with each row sent once', async () => {
    const hosts = await scriptedHosts();
    const { scripted, world, b } = hosts;
    const { row } = await hosts.create(1);
    const frozen = await hosts.join(still);
    scripted.onWrite('frozen');
    const own = frozen.engine.flush('ann', 'flush');
    await hosts.settle();
    expect(await hosts.flush(b)).toMatchObject({ outcomes: [], stoppedBy: 'store' });
    expect(world.server.requests).toEqual([]);

    scripted.release();
    await hosts.run(own);
    await hosts.flush(b);
    expect(world.server.requests.map(({ id }) => id)).toEqual([row?.id]);
    expect(await hosts.rows()).toEqual([]);
  });
});
