import { beforeEach, expect, it } from 'vitest';
import type { SendRequest } from '../../../sw/dispatch/sender.ts';
import { createManualClock, type ManualClock } from '../../../sw/testing/manual-clock.ts';
import { createScriptedServer, type ScriptedServer } from '../../../sw/testing/scripted-server.ts';

let clock: ManualClock;
let server: ScriptedServer;

beforeEach(() => {
  clock = createManualClock();
  server = createScriptedServer({ clock, timers: clock });
});

const request = (over: Partial<SendRequest> = {}): SendRequest => ({
  id: 'a',
  requestHash: 'h',
  owner: 'ann',
  family: 'workout',
  kind: 'put',
  wireKind: 'workout.put',
  target: { type: 'id', id: 't' },
  body: { kg: 60 },
  headers: {},
  attempt: 1,
  ...over,
});
const send = (over?: Partial<SendRequest>, signal = new AbortController().signal) =>
  server.sender.send(request(over), signal);
const statusOf = async (answer: ReturnType<typeof send>) => {
  const given = await answer;
  return given.type === 'response' ? given.status : given.type;
};

it('[W52, V2] the same key and hash answers from the ledger, another hash is refused', async () => {
  expect(await statusOf(send())).toBe(200);
  const again = await send();
  expect(again).toMatchObject({ status: 200, json: { receipt: { id: 'a', revision: 1, replayed: true } } });
  expect(await send({ requestHash: 'other' })).toMatchObject({
    status: 422,
    json: { type: 'urn:holdfast:problem:idempotency_key_reused' },
  });
  expect(server.applied).toHaveLength(1);
});

it('[W52, V3] a revision that is not the expected one is refused with the actual one', async () => {
  await send();
  expect(await send({ id: 'b', expectedRevision: 7 })).toMatchObject({
    status: 412,
    json: { actual_revision: 1 },
  });
  expect(server.resource('ann', 'workout', 't')?.revision).toBe(1);
});

it('[W52] scripted faults are met once each, in order, by the requests that match', async () => {
  server.next([{ type: 'status', status: 500 }, { type: 'drop_answer' }], ({ id }) => id === 'a');
  expect(await statusOf(send({ id: 'b' }))).toBe(200);
  expect(await statusOf(send())).toBe(500);
  expect(await statusOf(send())).toBe('failure');
  expect(server.applied.map(({ id }) => id)).toEqual(['b', 'a']);
  expect(await statusOf(send())).toBe(200);
});

it('[W52] a slow request is worked on although it was cut, and others of its id hear "in progress"', async () => {
  server.next({ type: 'slow', ms: 45_000, retryAfter: '3' });
  const cut = new AbortController();
  const first = send({}, cut.signal);
  await clock.advance(10_000);
  cut.abort();
  expect(await first).toMatchObject({ type: 'failure', timedOut: true });
  expect(await send()).toMatchObject({ status: 409, retryAfter: '3' });
  await clock.advance(35_000);
  expect(await send()).toMatchObject({ status: 200, json: { receipt: { replayed: true } } });
  expect(server.applied).toHaveLength(1);
});

it('[W52, V2] a scripted conflict yields to the ledger: what was applied does not conflict with itself', async () => {
  server.next([{ type: 'drop_answer' }, { type: 'conflict' }]);
  expect(await statusOf(send())).toBe('failure');
  expect(await send()).toMatchObject({ status: 200, json: { receipt: { replayed: true } } });
  server.next({ type: 'conflict', actual: 9 });
  expect(await send({ id: 'b' })).toMatchObject({ status: 412, json: { actual_revision: 9 } });
});

it('[W52] an unreachable server sees nothing', async () => {
  server.reachable = false;
  expect(await statusOf(send())).toBe('failure');
  expect(server.requests).toHaveLength(0);
});
