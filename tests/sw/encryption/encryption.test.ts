/** The engine over memory with bodies encrypted (W63). The cipher answers at once, so that the clock alone decides. */
import { describe, expect, it } from 'vitest';
import { EncryptionUnavailableError, IdentityConflictError } from '../../../shared/errors.ts';
import { defineOutbox, record } from '../../../shared/family.ts';
import type { Row } from '../../../shared/row.ts';
import type { SnapshotOffer } from '../../../shared/snapshot.ts';
import { createEncryption } from '../../../sw/encryption/create-encryption.ts';
import type { Engine } from '../../../sw/engine.ts';
import { isSealed } from '../../../sw/outbox/sealed-body.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import {
  createTestWorld,
  type TestWorldOptions,
  testCommand,
} from '../../../sw/testing/create-test-world.ts';
import { createMemoryLedger } from '../../../sw/testing/memory-ledger.ts';
import { createTestCipher, testEncryption } from '../../../sw/testing/test-encryption.ts';

const definition = defineOutbox({
  workout: record(),
  note: record({ merge: (earlier, later) => Object.assign({}, earlier, later) }),
});
const SECRET = 'A note to be found';

async function setUp(options: Partial<TestWorldOptions> = {}) {
  const ledger = createMemoryLedger();
  const world = createTestWorld({ definition, ledger, encryption: testEncryption(), ...options });
  const host = await world.start();
  const { engine } = host;
  await engine.signIn('ann');
  const enqueue = async (to: Engine = engine, over: Parameters<typeof testCommand>[1] = {}): Promise<Row> => {
    const { row } = await to.enqueue(testCommand(world, { body: { note: SECRET }, ...over }));
    if (row === undefined) throw new Error('nothing waits');
    return row;
  };
  const stored = async (row: Row): Promise<unknown> => {
    const [read] = await world.store.readBodies([row.bodyId ?? '']);
    return read?.type === 'body' ? read.body : read?.type;
  };
  const bodyOf = async (row: Row, of: Engine = engine) => (await of.bodies('ann', [row.id]))[0]?.body;
  const keys = async () => ({
    stored: (await world.store.readFacts(['body_key'], 99)).map(({ name }) => name[1]),
    kept: (await ledger.keys()).map(({ owner }) => owner),
  });
  const flush = (of: Engine = engine) => world.run(of.flush('ann', 'flush'));
  const mirrored = () => world.clock.advance(1_000);
  const snapshot = async (): Promise<SnapshotOffer> => {
    const page = await engine.readSnapshot('ann', undefined);
    // As localStorage holds it.
    return JSON.parse(JSON.stringify({ type: 'snapshot', at: world.clock.now(), ...page }));
  };
  /** The outbox's database is gone; the browser makes a new one. */
  const lose = async () => {
    host.kill();
    const store = createMemoryRowStore({ clock: world.clock, ids: { uuid: world.uuid } });
    const next = await world.start(store);
    await next.engine.signIn('ann');
    return { engine: next.engine, store };
  };
  const sent = () => world.server.applied.map(({ body }) => body);
  return {
    world,
    ledger,
    host,
    engine,
    enqueue,
    stored,
    bodyOf,
    keys,
    flush,
    mirrored,
    snapshot,
    lose,
    sent,
  };
}

describe('where bodies are encrypted', () => {
  it('[W63] store, ledger and snapshot hold none of the content, and the server gets all of it', async () => {
    const { engine, ledger, enqueue, stored, bodyOf, flush, mirrored, snapshot, sent } = await setUp();
    const row = await enqueue();
    await mirrored();
    expect(isSealed(await stored(row))).toBe(true);
    const held = [await stored(row), await ledger.entries(undefined, 9), await snapshot()];
    expect(held.map((value) => JSON.stringify(value).includes(row.id))).toEqual([false, true, true]);
    expect(held.filter((value) => JSON.stringify(value).includes(SECRET))).toEqual([]);
    expect(await bodyOf(row)).toEqual({ note: SECRET });
    expect((await engine.exportOwner('ann')).rows).toMatchObject([{ body: { note: SECRET } }]);
    await flush();
    expect(sent()).toEqual([{ note: SECRET }]);
  });

  it('[W63, R4] what a row shows of its body is the same for the same body, and no plain hash of it', async () => {
    const { enqueue } = await setUp();
    const plain = await setUp({ encryption: undefined });
    const [one, other] = [await enqueue(), await enqueue()];
    expect(one.bodyDigest).toBe(other.bodyDigest);
    expect(one.bodyDigest).not.toBe((await plain.enqueue()).bodyDigest);
    expect(one.bodySize).toBe((await plain.enqueue()).bodySize);
  });

  it('[W63, R9] a repeated command is known again; another under its id is refused', async () => {
    const { world, engine } = await setUp();
    const command = testCommand(world, { body: { note: SECRET } });
    await engine.enqueue(command);
    expect(await engine.enqueue(command)).toMatchObject({ action: 'existing', row: { id: command.id } });
    await expect(engine.enqueue({ ...command, body: { note: 'other' } })).rejects.toThrow(
      IdentityConflictError,
    );
  });

  it('[W63, R36] patches are folded over what is sealed', async () => {
    const { world, enqueue, bodyOf, stored } = await setUp();
    const over = { family: 'note', kind: 'update', target: { type: 'id', id: 'w1' } } as const;
    await enqueue(undefined, { ...over, body: { note: SECRET } });
    const row = await enqueue(undefined, { ...over, id: world.uuid(), body: { kg: 80 } });
    expect(await bodyOf(row)).toEqual({ note: SECRET, kg: 80 });
    expect(isSealed(await stored(row))).toBe(true);
  });

  it('[W63, D31] a conflict is resolved over the content', async () => {
    const resolveConflict = async ({ body }: { readonly body: unknown }) =>
      ({ type: 'body', body: Object.assign({ merged: true }, body) }) as const;
    const { world, enqueue, flush, sent } = await setUp({ ports: { workout: { resolveConflict } } });
    world.server.change('ann', 'workout', 'w1', {});
    world.server.change('ann', 'workout', 'w1', {});
    await enqueue(undefined, { kind: 'update', target: { type: 'id', id: 'w1' }, expectedRevision: 1 });
    await flush();
    expect(sent()).toEqual([{ merged: true, note: SECRET }]);
  });

  it('[W63] an owner has one key, in both databases; two hosts that begin at once agree on it', async () => {
    const { world, engine, enqueue, bodyOf, keys } = await setUp();
    const other = await world.start();
    const [one, two] = await Promise.all([enqueue(engine), enqueue(other.engine)]);
    const third = await enqueue((await world.start()).engine);
    expect(await bodyOf(one, other.engine)).toEqual({ note: SECRET });
    expect(await bodyOf(two, engine)).toEqual({ note: SECRET });
    expect(await bodyOf(third, engine)).toEqual({ note: SECRET });
    expect(new Set([one, two, third].map(({ bodyDigest }) => bodyDigest)).size).toBe(1);
    expect((await keys()).kept).toEqual(['ann']);
  });

  it('[W63] two owners have a key each', async () => {
    const { engine, enqueue, keys } = await setUp();
    const anns = await enqueue();
    await engine.signOut('ann', 'keep');
    await engine.signIn('bob');
    const bobs = await enqueue(engine, { owner: 'bob' });
    expect(bobs.bodyDigest).not.toBe(anns.bodyDigest);
    expect(await keys()).toEqual({ stored: ['ann', 'bob'], kept: ['ann', 'bob'] });
  });
});

describe('when it is switched', () => {
  it('[W63] on, rows of before are read as they are', async () => {
    const { world, enqueue, host } = await setUp({ encryption: undefined });
    await enqueue();
    host.kill();
    const later = createTestWorld({ definition, encryption: testEncryption() });
    const { engine } = await later.start(world.store);
    const after = await engine.enqueue(testCommand(world, { body: { note: 'later' } }));
    expect(await engine.bodies('ann', [after.row?.id ?? ''])).toMatchObject([{ body: { note: 'later' } }]);
    await later.run(engine.flush('ann', 'flush'));
    expect(later.server.applied.map(({ body }) => body)).toEqual([{ note: SECRET }, { note: 'later' }]);
  });

  it('[W63] off by `when`, what is sealed is read and what comes is stored as it is', async () => {
    let isOn = true;
    const { enqueue, stored, flush, sent } = await setUp({
      encryption: testEncryption({ when: () => isOn }),
    });
    const sealed = await enqueue();
    isOn = false;
    const plain = await enqueue();
    expect([isSealed(await stored(sealed)), await stored(plain)]).toEqual([true, { note: SECRET }]);
    await flush();
    expect(sent()).toEqual([{ note: SECRET }, { note: SECRET }]);
  });

  it('[W63, R3] off altogether, what is sealed is never sent as it is: blocked, kept, and sent once it reads', async () => {
    const cipher = createTestCipher();
    const { world, ledger, host, enqueue, stored } = await setUp({ encryption: createEncryption(cipher) });
    const row = await enqueue();
    host.kill();
    const without = createTestWorld({ definition, ledger, startAt: world.clock.now() });
    const { engine } = await without.start(world.store);
    await without.run(engine.flush('ann', 'flush'));
    expect(without.server.applied).toEqual([]);
    const { rows } = await engine.rows('ann', { limit: 9 });
    expect(rows).toMatchObject([{ id: row.id, state: 'blocked', blockedCode: 'body_unreadable' }]);
    expect(isSealed(await stored(row))).toBe(true);
    const again = createTestWorld({
      definition,
      ledger,
      encryption: createEncryption(cipher),
      startAt: without.clock.now(),
    });
    const next = await again.start(world.store);
    await next.engine.retry('ann', row.id);
    await again.run(next.engine.flush('ann', 'flush'));
    expect(again.server.applied.map(({ body }) => body)).toEqual([{ note: SECRET }]);
  });
});

describe('a body that cannot be decrypted', () => {
  it('[W63, R3] blocks its row and no other; it is shown, kept, and can be written anew', async () => {
    const { world, engine, enqueue, flush, sent } = await setUp();
    const [bad, good] = [await enqueue(), await enqueue(engine, { body: { note: 'good' } })];
    const [read] = await world.store.readBodies([good.bodyId ?? '']);
    if (read?.type !== 'body') throw new Error('no body');
    // Sealed for another row: it must not be taken for this one's.
    await plantBody(world.store, bad, read.body);
    await flush();
    expect(sent()).toEqual([{ note: 'good' }]);
    const { rows } = await engine.rows('ann', { limit: 9 });
    expect(rows).toMatchObject([{ id: bad.id, state: 'blocked', blockedCode: 'body_unreadable' }]);
    expect(await engine.explain('ann', bad.id)).toMatchObject({ reason: { type: 'blocked' } });
    await engine.recover('ann', bad.id, { body: { note: 'anew' } });
    await flush();
    expect(sent()).toEqual([{ note: 'good' }, { note: 'anew' }]);
  });
});

describe('when the outbox’s database is lost', () => {
  it('[W63, T10] the key comes back from the ledger, and all of it drains', async () => {
    const { world, engine, enqueue, mirrored, snapshot, lose, sent } = await setUp();
    await enqueue(engine, { body: { note: 'one' } });
    await enqueue(engine, { body: { note: 'two' } });
    await mirrored();
    const offer = await snapshot();
    const { engine: next, store } = await lose();
    await next.offerSnapshot('ann', offer);
    await world.run(next.flush('ann', 'flush'));
    expect(sent()).toEqual([{ note: 'one' }, { note: 'two' }]);
    expect((await store.readFacts(['body_key'], 9)).map(({ name }) => name[1])).toEqual(['ann']);
  });

  it('[W63, S35] rows that only the page’s snapshot has come back with their content', async () => {
    const { world, ledger, enqueue, snapshot, lose, sent } = await setUp();
    await enqueue();
    const offer = await snapshot();
    await ledger.forgetOwner('bob');
    const { engine: next } = await lose();
    await next.offerSnapshot('ann', offer);
    await world.run(next.flush('ann', 'flush'));
    expect(sent()).toEqual([{ note: SECRET }]);
  });

  it('[W63] what is saved afterwards is sealed with the same key', async () => {
    const { ledger, enqueue, mirrored, lose } = await setUp();
    const before = await enqueue();
    await mirrored();
    const { engine: next } = await lose();
    expect((await enqueue(next)).bodyDigest).toBe(before.bodyDigest);
    expect(await ledger.keys()).toHaveLength(1);
  });

  it('[W63, R3] and the key with it, the rows are shown as unreadable and not lost', async () => {
    const { world, ledger, engine, enqueue, mirrored, lose, sent } = await setUp();
    const row = await enqueue(engine);
    await mirrored();
    for (const key of await ledger.keys()) await ledger.keepKey({ ...key, key: undefined });
    const { engine: next } = await lose();
    await next.offerSnapshot('ann', { type: 'none' });
    await world.run(next.flush('ann', 'flush'));
    const { rows } = await next.rows('ann', { limit: 9 });
    expect(rows).toMatchObject([{ id: row.id, state: 'blocked', blockedCode: 'body_unreadable' }]);
    expect(sent()).toEqual([]);
  });
});

describe('signing out with discard', () => {
  it('[W63, W32] destroys the key in both databases; what is left over is never read again', async () => {
    const { world, engine, ledger, enqueue, keys, mirrored, stored } = await setUp();
    const row = await enqueue();
    await mirrored();
    const leftOver = { entries: await ledger.entries(undefined, 9), body: await stored(row) };
    expect(JSON.stringify(leftOver.entries)).toContain(row.id);
    await engine.signOut('ann', 'discard');
    expect(await keys()).toEqual({ stored: [], kept: [] });
    await engine.signIn('ann');
    const next = await enqueue(engine, { body: { note: 'next' } });
    await plantBody(world.store, next, leftOver.body);
    expect(await engine.bodies('ann', [next.id])).toEqual([]);
  });

  it('[W63, W32] keeping leaves the key, and the rows are sent when the owner is back', async () => {
    const { engine, enqueue, keys, flush, sent } = await setUp();
    await enqueue();
    await engine.signOut('ann', 'keep');
    expect(await keys()).toEqual({ stored: ['ann'], kept: ['ann'] });
    await engine.signIn('ann');
    await flush();
    expect(sent()).toEqual([{ note: SECRET }]);
  });

  it('[W63] another host that still knows the key uses it for nothing', async () => {
    const { world, engine, enqueue, bodyOf } = await setUp();
    const other = await world.start();
    await enqueue(other.engine);
    await engine.signOut('ann', 'discard');
    await engine.signIn('ann');
    const row = await enqueue(other.engine, { body: { note: 'new' } });
    const third = await world.start();
    expect(await bodyOf(row, third.engine)).toEqual({ note: 'new' });
  });

  it('[W63] with a ledger that hangs the key goes as soon as it answers, and a newer one stays', async () => {
    const { world, ledger, engine, enqueue, keys } = await setUp();
    await enqueue();
    const [old] = await ledger.keys();
    ledger.isHanging = true;
    await world.run(engine.signOut('ann', 'discard'));
    await world.run(engine.signIn('ann'));
    await world.run(enqueue(engine, { body: { note: 'new' } }));
    ledger.isHanging = false;
    expect(await ledger.keys()).toEqual([old]);
    await enqueue((await world.start()).engine);
    const [kept, ...more] = await ledger.keys();
    expect([kept?.id === old?.id, more]).toEqual([false, []]);
    expect(await keys()).toEqual({ stored: ['ann'], kept: ['ann'] });
  });
});

describe('where keys can be neither made nor kept', () => {
  const broken = { ...createTestCipher(), makeKey: () => Promise.reject(new Error('no keys here')) };
  const absent = { ...createTestCipher(), isAvailable: false };

  it('[W63] the app hears of it at start where that is known, and no body is stored', () => {
    expect(() => createEncryption(absent)).toThrow(EncryptionUnavailableError);
  });

  it('[W63] else the first call that would store a body hears of it, and nothing is stored', async () => {
    const { world, engine } = await setUp({ encryption: createEncryption(broken) });
    const command = testCommand(world, { body: { note: SECRET } });
    await expect(engine.enqueue(command)).rejects.toThrow(EncryptionUnavailableError);
    expect((await engine.rows('ann', { limit: 9 })).rows).toEqual([]);
  });

  it.each([
    { what: 'keys', cipher: broken },
    { what: 'Web Crypto', cipher: absent },
  ])('[W63] without $what, bodies are stored as they are where the app chose that', async ({ cipher }) => {
    const encryption = createEncryption(cipher, { whenUnavailable: 'plain' });
    const { enqueue, stored, flush, sent } = await setUp({ encryption });
    expect(await stored(await enqueue())).toEqual({ note: SECRET });
    await flush();
    expect(sent()).toEqual([{ note: SECRET }]);
  });
});

/** Puts another body in the place of a row's, as somebody with the database in his hands could. */
async function plantBody(
  store: ReturnType<typeof createMemoryRowStore>,
  row: Row,
  body: unknown,
): Promise<void> {
  const keys = [{ owner: row.owner, family: row.family, target: row.target }];
  const [[now] = []] = await store.readKeys(keys);
  if (!now) throw new Error('no row');
  const part = { owner: row.owner, keys, expected: [now], outcomes: [], durability: 'relaxed' } as const;
  await store.commit([
    { ...part, reason: 'person', write: [now], remove: [], bodies: [{ bodyId: row.bodyId ?? '', body }] },
  ]);
}
