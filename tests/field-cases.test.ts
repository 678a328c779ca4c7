/** Cases from public reports: stores that block, close, stay silent, abort late. */
import { describe, expect, it } from 'vitest';
import type { CommitReason } from '../sw/outbox/row-store.ts';
import { createMemoryLedger } from '../sw/testing/memory-ledger.ts';
import { scriptedHosts } from './support/scripted-hosts.ts';

/** Opens the database as something that never looks at `versionchange`. */
function openElsewhere(indexedDB: IDBFactory, version?: number): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('holdfast', version);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

describe('a connection that the browser closes', () => {
  it('[S12, C1, A39] at enqueue, claim and acknowledgement is opened again, and each is done once', async () => {
    const hosts = await scriptedHosts();
    const { scripted, world } = hosts;
    world.server.latencyMs = 500;
    const before = scripted.openings;
    scripted.onWrite('closing');
    const { row } = await hosts.create(60);
    expect(scripted.openings).toBe(before + 1);
    expect(await hosts.rows()).toMatchObject([{ id: row?.id, version: 1 }]);

    scripted.onWrite('closing');
    const { ended } = await hosts.begin(hosts.a, 1);
    expect(scripted.openings).toBe(before + 2);
    expect(await hosts.rows()).toMatchObject([{ state: 'sending', claim: { fence: 1 } }]);

    scripted.onWrite('closing');
    await hosts.run(ended);
    expect(scripted.openings).toBe(before + 3);
    expect(await hosts.rows()).toEqual([]);
    expect(await hosts.told()).toEqual([`${row?.id} committed`]);
    expect(world.server.requests).toHaveLength(1);
    expect(scripted.connections).toBe(1);
  });
});

describe('what is told before it is kept', () => {
  it('[R44] A45 nothing: neither caller nor view hears of a row before its transaction is complete', async () => {
    const hosts = await scriptedHosts();
    const { scripted } = hosts;
    const told: unknown[] = [];
    hosts.a.engine.onChange((change) => told.push(change));
    scripted.onWrite('lands_unseen');
    let saved: unknown;
    const saving = hosts.create(60).then((answer) => {
      saved = answer;
    });
    await hosts.settle();
    expect((await hosts.dump())['rows']).toHaveLength(1);
    expect({ saved, told }).toEqual({ saved: undefined, told: [] });

    scripted.release();
    await saving;
    expect(saved).toMatchObject({ action: 'queued', row: { version: 1 } });
    expect(told).toHaveLength(1);
  });

  it.each([
    { end: 'for want of room', steps: ['full'], code: 'quota' },
    {
      end: 'twice without a word',
      steps: ['aborts_silently', 'aborts_silently'],
      code: 'outbox_unavailable',
    },
  ] as const)(
    '[R44, R41, A45] an enqueue that aborts after its put, $end, rejects and leaves no row, no body',
    async ({ steps, code }) => {
      const hosts = await scriptedHosts();
      const told: unknown[] = [];
      hosts.a.engine.onChange((change) => told.push(change));
      const before = await hosts.dump();
      hosts.scripted.onWrite(...steps);
      await expect(hosts.create(60)).rejects.toMatchObject({ code });
      expect(await hosts.dump()).toEqual(before);
      expect(told).toEqual([]);
      await hosts.create(61);
      expect(await hosts.rows()).toHaveLength(1);
    },
  );

  it('[S14, A45] durability is strict where something is promised or first put in doubt, and relaxed elsewhere', async () => {
    const hosts = await scriptedHosts();
    const { scripted, store, world } = hosts;
    let goesOffline = false;
    const made: (readonly [CommitReason | undefined, string | undefined])[] = [];
    const watched = await hosts.start({
      ...store,
      async commit(commits) {
        const at = scripted.durabilities.length;
        const results = await store.commit(commits);
        made.push([commits[0]?.reason, scripted.durabilities[at]]);
        if (goesOffline) world.isOnline = false;
        goesOffline = false;
        return results;
      },
    });
    const flush = async () => {
      made.length = 0;
      await hosts.flush(watched);
      return made.map((one) => one.join(' '));
    };
    await hosts.enqueue({ kind: 'create', body: { kg: 60 } }, watched);
    expect(made).toEqual([['enqueue', 'strict']]);

    world.server.next({ type: 'status', status: 429, retryAfter: '1' });
    expect(await flush()).toEqual(['claim strict', 'acknowledge relaxed']);
    await hosts.pass(2_000);
    world.server.next({ type: 'drop_answer' });
    expect(await flush()).toEqual(['claim strict', 'acknowledge relaxed']);
    expect(await flush()).toEqual(['claim relaxed', 'acknowledge relaxed']);

    // Claimed, and given back because the realm has gone offline before it left.
    await hosts.enqueue({ kind: 'create', body: { kg: 61 } }, watched);
    goesOffline = true;
    expect(await flush()).toEqual(['claim strict', 'give_back relaxed']);
    world.isOnline = true;
    expect(await flush()).toEqual(['claim strict', 'acknowledge relaxed']);
    expect(await hosts.rows()).toEqual([]);
  });
});

describe('an opening that is never answered', () => {
  it('[S10, S12, A41] the second one serves all in call order; the first, late, is closed', async () => {
    const hosts = await scriptedHosts();
    const { clock } = hosts.world;
    const { scripted } = hosts;
    const startedAt = clock.now();
    scripted.onOpen('late');
    const host = await hosts.join();
    const saving = [1, 2, 3].map((kg) =>
      hosts.enqueue({ kind: 'create', body: { kg } }, host).then(({ row }) => row?.id),
    );
    const saved = await Promise.all(saving);
    expect(clock.now() - startedAt).toBeLessThan(10_000);
    const open = scripted.connections;
    await hosts.pass(startedAt + 20_000 - clock.now());
    scripted.release();
    await hosts.settle();
    expect(scripted.connections).toBe(open - 1);
    expect((await hosts.rows()).map(({ id }) => id)).toEqual(saved);
  });

  it.each([
    { when: 'no opening is answered', open: ['hang', 'hang'], write: [] },
    { when: 'no transaction is answered', open: [], write: ['stuck', 'stuck'] },
  ] as const)(
    '[S10, S12, A41] where $when a refusal is typed and true, and later calls work',
    async (case_) => {
      const hosts = await scriptedHosts();
      const { scripted } = hosts;
      const host = await hosts.join();
      if (case_.open.length === 0) await hosts.run(host.engine.epoch());
      scripted.onOpen(...case_.open);
      scripted.onWrite(...case_.write);
      const ends = await Promise.allSettled(
        [1, 2, 3].map((kg) => hosts.enqueue({ kind: 'create', body: { kg } }, host)),
      );
      const refusal = { status: 'rejected', reason: { code: 'store_timeout' } };
      expect(ends).toMatchObject([refusal, refusal, refusal]);
      expect(await hosts.rows()).toEqual([]);
      const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 4 } }, host);
      scripted.release();
      await hosts.settle();
      expect(await hosts.rows()).toMatchObject([{ id: row?.id }]);
    },
  );
});

describe('a foreign connection that ignores versionchange', () => {
  it('[S12, S31, A38] while a deletion waits for it: a typed refusal in time; then a fresh database that recovers', async () => {
    const hosts = await scriptedHosts({ ledger: createMemoryLedger() });
    const { scripted, world, a } = hosts;
    const first = await hosts.create(1);
    await hosts.pass(2_000);
    const foreign = await openElsewhere(scripted.honest);
    const deletion = scripted.honest.deleteDatabase('holdfast');
    await hosts.settle();
    expect(scripted.connections).toBe(0);

    const startedAt = world.clock.now();
    await expect(hosts.create(2)).rejects.toMatchObject({ name: 'IdbBlockedError' });
    expect(world.clock.now() - startedAt).toBeLessThanOrEqual(10_000);
    expect(deletion.readyState).toBe('pending');
    await hosts.pass(startedAt + 20_000 - world.clock.now());
    foreign.close();
    await hosts.settle();
    expect(deletion.readyState).toBe('done');

    await hosts.run(a.engine.signIn('ann'));
    const third = await hosts.create(3);
    expect((await hosts.rows()).map(({ id }) => id)).toEqual([first.row?.id, third.row?.id]);
    await hosts.run(a.engine.offerSnapshot('ann', { type: 'none' }));
    await hosts.flush(a);
    expect(world.server.applied.map(({ id }) => id).sort()).toEqual([first.row?.id, third.row?.id]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[S12, S15, A38] while an upgrade waits for it, and after that: typed refusals, and nothing is deleted', async () => {
    const hosts = await scriptedHosts();
    const { scripted } = hosts;
    await hosts.create(1);
    const before = await hosts.dump();
    const foreign = await openElsewhere(scripted.honest);
    const upgrading = openElsewhere(scripted.honest, 2);
    await hosts.settle();
    expect(scripted.connections).toBe(0);
    await expect(hosts.create(2)).rejects.toMatchObject({ name: 'IdbBlockedError' });
    foreign.close();
    (await upgrading).close();
    await expect(hosts.create(3)).rejects.toMatchObject({ name: 'OutboxUnavailableError' });
    expect(await hosts.dump()).toEqual(before);
  });
});
