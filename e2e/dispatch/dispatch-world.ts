/** One browser and one server for all of it; for each test an empty server and a device that nobody has used. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { Fault } from '../../examples/server/faults/fault-rule.ts';
import { type Chromium, launchChromium } from '../support/launch-chromium.ts';
import { type Device, type End, openDevice } from '../support/outbox-app/device.ts';
import { type OutboxAppServer, serveOutboxApp } from '../support/outbox-app/serve-outbox-app.ts';

export interface DispatchWorld {
  readonly app: OutboxAppServer;
  readonly chromium: Chromium;
  /** Signed in as ada. */
  readonly device: Device;
  /** Only commands meet it; without `count` until `mend`. */
  fail(fault: Fault, count?: number): void;
  mend(): void;
  /** A workout that the server has, from another device. */
  existing(): Promise<string>;
  otherDevice(method: 'PATCH' | 'DELETE', target: string, body?: object): Promise<void>;
  serverHas(target: string): Promise<unknown>;
}

/** Accepted by the first request, and told so once. */
export const SAVED: End = {
  settled: 'uploaded',
  said: 'Saved.',
  heard: ['committed'],
  row: undefined,
  answers: ['201'],
  applied: 1,
};

export function dispatchWorld(): DispatchWorld {
  let app: OutboxAppServer;
  let chromium: Chromium;
  let device: Device;

  beforeAll(async () => {
    [app, chromium] = await Promise.all([serveOutboxApp(), launchChromium()]);
  });
  beforeEach(async () => {
    [device] = await Promise.all([openDevice(chromium, app), app.reset()]);
    await device.signIn('ada');
  });
  afterEach(() => device.close());
  afterAll(async () => {
    await chromium.close();
    await app.close();
  });

  return {
    get app() {
      return app;
    },
    get chromium() {
      return chromium;
    },
    get device() {
      return device;
    },
    fail(fault, count) {
      app.server.faults.set(['workout', 'plan'].map((family) => ({ fault, count, match: { family } })));
    },
    mend: () => app.server.faults.clear(),
    async existing() {
      const response = await app.ask('ada', 'POST', '/api/workouts', { date: '2026-11-30', exercise: 'Row' });
      const { receipt } = (await response.json()) as { readonly receipt: { readonly target: string } };
      return receipt.target;
    },
    async otherDevice(method, target, body) {
      const { ok } = await app.ask('ada', method, `/api/workouts/${target}`, body);
      if (!ok) throw new Error(`The other device could not ${method}`);
    },
    serverHas: async (target) => (await app.ask('ada', 'GET', `/api/workouts/${target}`)).json(),
  };
}
