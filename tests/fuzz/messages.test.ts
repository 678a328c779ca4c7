/** W16: whatever a page, or something that only looks like one, sends to a worker leaves no trace in the store. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeError } from '../../shared/error-transfer.ts';
import { HoldfastError } from '../../shared/errors.ts';
import { defineOutbox, document, record } from '../../shared/family.ts';
import { createMessageEndpoint } from '../../sw/host/message-endpoint.ts';
import { createWorkerApi, NOTHING_HANDED_OVER } from '../../sw/host/worker-api.ts';
import { createTestWorld } from '../../sw/testing/create-test-world.ts';
import { holdsInTime, junk, nearly } from '../support/fuzz.ts';

const ORIGIN = 'https://app.test';
const definition = defineOutbox({ workout: record(), plan: document() });
const CALLS = [
  'hello',
  'signIn',
  'signOut',
  'enqueue',
  'cancel',
  'discard',
  'retry',
  'recover',
  'flush',
  'trigger',
  'pause',
  'resume',
  'rows',
  'storage',
  'bodies',
  'journal',
  'settled',
  'explain',
  'conflicts',
  'exportOwner',
  'offerSnapshot',
  'readSnapshot',
  'giveCredentials',
] as const;
/** Sign-ins and sign-outs of anybody are a page's right; everything else is for the owner who is signed in. */
const FOREIGN = CALLS.filter((name) => !['signIn', 'signOut', 'hello', 'trigger', 'storage'].includes(name));

/** Ann is signed in and has a row that waits; Bob has one as well. */
async function setUp() {
  const world = createTestWorld({ definition });
  const { engine } = await world.start();
  world.server.reachable = false;
  for (const owner of ['bob', 'ann']) {
    await world.run(engine.signIn(owner));
    const command = { family: 'workout', kind: 'create', body: { kg: 60 } } as const;
    await world.run(engine.enqueue({ ...command, id: world.uuid(), owner }));
  }
  const api = createWorkerApi({
    engine,
    clock: world.clock,
    timers: world.clock,
    facts: async () => ({
      protocol: 1,
      release: 'r1',
      host: engine.host,
      kind: 'worker',
      triggers: { sync: 'idle', periodicSync: false },
    }),
    ring: async () => undefined,
    start: async () => undefined,
    ownerChanged: () => undefined,
    credentials: NOTHING_HANDED_OVER,
    areCopies: true,
  });
  const endpoint = createMessageEndpoint(api, {
    origin: ORIGIN,
    identity: Promise.resolve({ release: 'r1', host: engine.host, locked: true }),
  });
  const posted: unknown[] = [];
  const port = { postMessage: (message: unknown) => posted.push(structuredClone(message)) };
  const send = async (data: unknown, origin = ORIGIN) => {
    const answered = endpoint.receive({ data, origin, ports: [port] });
    if (answered !== undefined) await world.run(answered);
  };
  const stored = async () => ({
    rows: await Promise.all(['ann', 'bob'].map((owner) => world.store.index(owner, { limit: 99 }))),
    owners: await world.store.owners(),
    unreadable: await world.store.unreadable(9),
    counts: await Promise.all(['ann', 'bob'].map((owner) => world.store.ownerFacts(owner))),
  });
  return { world, send, posted, stored };
}

/** The error that went back, if one did. */
function refusalOf(posted: readonly unknown[]): unknown {
  const thrown = posted.find((message) => Object(message).name === 'throw');
  return thrown === undefined ? undefined : decodeError(Object(thrown).value);
}

const raw = (value: unknown) => ({ type: 'RAW', value });

it('[W16] a message that is none of ours, or nearly one, is refused and leaves no trace', async () => {
  const message = nearly({
    id: fc.string(),
    type: fc.constantFrom('APPLY', 'GET', 'SET', 'CONSTRUCT', 'ENDPOINT', 'RELEASE'),
    path: fc.oneof(
      fc.array(fc.constantFrom('enqueue', 'constructor', '__proto__', 'prototype', 'call'), { maxLength: 3 }),
      fc.array(fc.string(), { maxLength: 2 }),
    ),
    argumentList: fc.array(
      fc.oneof(junk.map(raw), nearly({ type: fc.constant('HANDLER'), name: fc.string() })),
      {
        maxLength: 8,
      },
    ),
  });
  const data = fc.oneof(junk, nearly({ holdfast: fc.constant('call'), protocol: fc.constant(1), message }));
  const { send, posted, stored } = await setUp();
  const before = await stored();
  await holdsInTime(data, async (value) => {
    posted.length = 0;
    await send(value);
    await send(value, 'https://evil.test');
    expect(refusalOf(posted) ?? new HoldfastErrorStandIn()).toBeInstanceOf(HoldfastError);
  });
  expect(await stored()).toEqual(before);
});

it('[W16, R46] a call with arguments of any shape ends in its answer or a typed error, and stores nothing broken', async () => {
  const command = nearly({
    id: fc.uuid(),
    owner: fc.constantFrom('ann', 'bob', 'eve'),
    family: fc.constantFrom('workout', 'plan', 'other'),
    kind: fc.constantFrom('create', 'update', 'delete', 'put', 'remove'),
    target: fc.oneof(
      fc.record({ type: fc.constant('id'), id: fc.string() }),
      fc.record({ type: fc.constant('pending'), origin: fc.uuid() }),
    ),
    body: junk,
    expectedRevision: fc.integer(),
    tags: fc.array(fc.string()),
    after: fc.array(fc.uuid(), { maxLength: 2 }),
    expiresAt: fc.integer(),
  });
  const argument = fc.oneof(junk, command, fc.constantFrom('ann', 'bob'), fc.nat());
  const call = fc.tuple(fc.constantFrom(...CALLS), fc.array(argument, { maxLength: 4 }));
  await holdsInTime(
    fc.array(call, { maxLength: 6 }),
    async (calls) => {
      const { world, send, posted, stored } = await setUp();
      for (const [name, given] of calls) {
        posted.length = 0;
        await send({
          holdfast: 'call',
          protocol: 1,
          message: { id: 'm', type: 'APPLY', path: [name], argumentList: given.map(raw) },
        });
        const refusal = refusalOf(posted);
        if (refusal !== undefined) expect([name, refusal]).toEqual([name, expect.any(HoldfastError)]);
      }
      const { unreadable, rows } = await stored();
      expect(unreadable).toEqual([]);
      expect(rows[1]).toHaveLength(1);
      expect(world.store).toBeDefined();
    },
    60,
  );
});

it('[W16, W30] no call for another owner reads, changes or removes anything of theirs', async () => {
  const { send, posted, stored, world } = await setUp();
  const id = (await stored()).rows[1]?.[0]?.id ?? '';
  const before = await stored();
  const argument = fc.oneof(junk, fc.constantFrom(id, [id], { after: undefined, limit: 10 }, 10));
  await holdsInTime(
    fc.tuple(fc.constantFrom(...FOREIGN), fc.array(argument, { maxLength: 3 })),
    async ([name, rest]) => {
      posted.length = 0;
      const first =
        name === 'enqueue'
          ? { id: world.uuid(), owner: 'bob', family: 'workout', kind: 'create', body: 1 }
          : 'bob';
      const given = name === 'enqueue' ? [first, 1_000] : [first, ...rest];
      await send({
        holdfast: 'call',
        protocol: 1,
        message: { id: 'm', type: 'APPLY', path: [name], argumentList: given.map(raw) },
      });
      if (name !== 'giveCredentials') expect(refusalOf(posted)).toBeInstanceOf(HoldfastError);
    },
  );
  expect(await stored()).toEqual(before);
});

/** Stands for a message that was answered, or not at all. */
class HoldfastErrorStandIn extends HoldfastError {
  readonly code = 'none';

  constructor() {
    super('', {});
  }
}
