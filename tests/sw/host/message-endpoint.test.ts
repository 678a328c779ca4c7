import { describe, expect, it } from 'vitest';
import { decodeError, type WireError } from '../../../shared/error-transfer.ts';
import type { WorkerApi } from '../../../shared/protocol.ts';
import { createMessageEndpoint } from '../../../sw/host/message-endpoint.ts';
import { createWorkerApi, NOTHING_HANDED_OVER } from '../../../sw/host/worker-api.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { createFakeEngine } from '../../support/fake-engine.ts';

const ORIGIN = 'https://app.test';

function host(change: Partial<WorkerApi> = {}) {
  const clock = createManualClock();
  const engine = createFakeEngine();
  const api: WorkerApi = {
    ...createWorkerApi({
      engine,
      clock,
      timers: clock,
      facts: async () => ({
        protocol: 1,
        release: 'r1',
        host: 'h1',
        kind: 'worker',
        triggers: { sync: 'idle', periodicSync: false },
      }),
      ring: (cause) => engine.flushActive(cause),
      start: async () => undefined,
      ownerChanged: () => undefined,
      credentials: NOTHING_HANDED_OVER,
      areCopies: true,
    }),
    ...change,
  };
  const endpoint = createMessageEndpoint(api, {
    origin: ORIGIN,
    identity: Promise.resolve({ release: 'r1', host: 'h1', locked: true }),
  });
  const posted: unknown[] = [];
  const port = { postMessage: (message: unknown) => posted.push(message) };
  const send = (data: unknown, origin = ORIGIN, ports = [port]) => endpoint.receive({ data, origin, ports });
  return { clock, engine, endpoint, posted, send };
}

const raw = (value: unknown) => ({ type: 'RAW', value });
const apply = (path: unknown, ...args: unknown[]) => ({
  id: 'm1',
  type: 'APPLY',
  path,
  argumentList: args.map(raw),
});
const call = (message: unknown, protocol: unknown = 1) => ({ holdfast: 'call', protocol, message });

function refusal(posted: readonly unknown[]): unknown {
  const [answer] = posted;
  if (typeof answer !== 'object' || answer === null || !('value' in answer)) return answer;
  return decodeError(answer.value as WireError);
}

describe('the worker’s end of the line', () => {
  it.each([
    { what: 'text', data: 'SKIP_WAITING' },
    { what: 'nothing', data: undefined },
    { what: 'another library’s message', data: { type: 'CACHE_URLS', payload: {} } },
    { what: 'a broadcast of ours', data: { holdfast: 'has', host: 'x' } },
  ])('[W1, W16] leaves $what to others', ({ data }) => {
    const { send, posted, engine } = host();
    expect(send(data)).toBeUndefined();
    expect([posted, engine.asked]).toEqual([[], []]);
  });

  it('[W16] ignores a message of another origin and one that brings no port', () => {
    const { send, posted, engine } = host();
    const message = call(apply(['enqueue'], { id: 'i1' }, 1_000));
    expect(send(message, 'https://evil.test')).toBeUndefined();
    expect(send(message, ORIGIN, [])).toBeUndefined();
    expect([posted, engine.asked]).toEqual([[], []]);
  });

  it.each([
    { what: 'reads a property', message: { id: 'm1', type: 'GET', path: ['enqueue'] } },
    { what: 'replaces a method', message: { id: 'm1', type: 'SET', path: ['enqueue'], value: raw(1) } },
    {
      what: 'constructs a function from text',
      message: {
        id: 'm1',
        type: 'CONSTRUCT',
        path: ['constructor', 'constructor'],
        argumentList: [raw('1')],
      },
    },
    { what: 'asks for a port of its own', message: { id: 'm1', type: 'ENDPOINT' } },
    { what: 'releases the host', message: { id: 'm1', type: 'RELEASE' } },
    { what: 'goes down a path', message: apply(['enqueue', 'call'], {}) },
    { what: 'has no path', message: apply([]) },
    { what: 'has a path that is no list', message: apply('enqueue') },
    { what: 'names its call by a number', message: apply([1]) },
    { what: 'has a name of a megabyte', message: apply(['x'.repeat(1_000_000)]) },
    { what: 'has a hundred arguments', message: apply(['hello'], ...Array(100).fill(1)) },
    {
      what: 'smuggles a proxy as an argument',
      message: {
        id: 'm1',
        type: 'APPLY',
        path: ['hello'],
        argumentList: [{ type: 'HANDLER', name: 'proxy' }],
      },
    },
    { what: 'has no arguments', message: { id: 'm1', type: 'APPLY', path: ['hello'] } },
  ])('[W16] refuses a message that $what, and asks the engine nothing', async ({ message }) => {
    const { send, posted, engine } = host();
    await send(call(message));
    expect(refusal(posted)).toMatchObject({ code: 'invalid_command' });
    expect(engine.asked).toEqual([]);
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    '[W14, W16] does not know an inherited member as a call: %s',
    async (name) => {
      const { send, posted, engine } = host();
      await send(call(apply([name])));
      expect(refusal(posted)).toMatchObject({ code: 'unknown_call', data: { call: name } });
      expect(engine.asked).toEqual([]);
    },
  );

  it.each([undefined, '1', 3, -1, 1.5, Number.NaN])(
    '[W14] refuses protocol %s by a typed error',
    async (protocol) => {
      const { send, posted, engine } = host();
      await send({ holdfast: 'call', protocol, message: apply(['hello'], {}) });
      expect(refusal(posted)).toMatchObject({ code: 'protocol', data: { protocol: 1 } });
      expect(engine.asked).toEqual([]);
    },
  );

  it.each([
    { what: 'an owner of a megabyte', over: { owner: 'x'.repeat(1_000_000) } },
    { what: 'a hundred thousand tags', over: { tags: Array(100_000).fill('x') } },
    { what: 'a member that nobody knows, of a megabyte', over: { extra: ['x'.repeat(1_000_000)] } },
    { what: 'a number that is none of JSON', over: { expiresAt: 1n } },
  ])('[W16] refuses a command with $what, and asks the engine nothing', async ({ over }) => {
    const { send, posted, engine } = host();
    const command = { id: 'i1', owner: 'ann', family: 'workout', kind: 'create', body: {} };
    await send(call(apply(['enqueue'], { ...command, ...over }, 1_000)));
    expect(refusal(posted.slice(-1))).toMatchObject({ code: 'invalid_command' });
    expect(engine.asked).toEqual([]);
    await send(call(apply(['enqueue'], { ...command, body: 'x'.repeat(1_000_000) }, 1_000)));
    expect(engine.asked).toHaveLength(1);
  });

  it('[W16] two messages with the same id are answered each on its own port', async () => {
    const answers: ((value: { readonly type: 'unknown_id' }) => void)[] = [];
    const { send, endpoint } = host({ cancel: () => new Promise((resolve) => answers.push(resolve)) });
    const first: unknown[] = [];
    const second: unknown[] = [];
    const message = call(apply(['cancel'], 'ann', 'i1'));
    const done = [first, second].map((seen) =>
      send(message, ORIGIN, [{ postMessage: (value: unknown) => seen.push(value) }]),
    );
    expect(endpoint.openCount).toBe(2);
    for (const answer of answers) answer({ type: 'unknown_id' });
    await Promise.all(done);
    const answer = { id: 'm1', type: 'RAW', value: { type: 'unknown_id' } };
    expect(first.at(-1)).toEqual(answer);
    expect(second.at(-1)).toEqual(answer);
    expect(endpoint.openCount).toBe(0);
  });

  it('[W15] an answer that cannot be cloned ends the call with an error', async () => {
    const { endpoint } = host({ hello: async () => Object.assign({}, { fn: () => 1 }) as never });
    const { port1, port2 } = new MessageChannel();
    const heard = new Promise((resolve) => {
      port2.onmessage = ({ data }) => !('holdfast' in data) && resolve(data);
    });
    await endpoint.receive({ data: call(apply(['hello'], {})), origin: ORIGIN, ports: [port1] });
    expect(await heard).toMatchObject({ id: 'm1', name: 'throw' });
    expect(endpoint.openCount).toBe(0);
    port2.close();
  });

  it.each([
    ['rows', { limit: 10 }],
    ['bodies', ['i1']],
    ['journal', undefined, 10],
    ['settled', 'i1'],
    ['explain', 'i1'],
    ['conflicts'],
    ['exportOwner'],
    ['cancel', 'i1'],
    ['discard', 'i1'],
    ['retry', 'i1', {}],
    ['recover', 'i1', undefined],
    ['flush'],
    ['pause'],
    ['resume'],
  ])('[W16, W30, A68] %s is for the owner who is signed in and no other', async (name, ...args) => {
    for (const owner of ['bob', '', undefined, { toString: () => 'ann' }]) {
      const { send, posted, engine } = host();
      await send(call(apply([name], owner, ...args)));
      expect(refusal(posted.slice(-1))).toMatchObject({ code: 'signed_out' });
      expect(engine.asked).toEqual([]);
    }
    const { send, posted, engine } = host();
    await send(call(apply([name], 'ann', ...args)));
    expect(posted.at(-1)).toMatchObject({ type: 'RAW' });
    expect(engine.asked.map(([asked]) => asked)).toEqual([name === 'flush' ? 'flushActive' : name]);
  });
});
