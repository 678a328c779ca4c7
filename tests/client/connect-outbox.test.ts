import { describe, expect, it } from 'vitest';
import { type ConnectOptions, connectOutbox } from '../../client/connect-outbox.ts';
import { NoHostError } from '../../shared/errors.ts';
import { defineOutbox, record } from '../../shared/family.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';
import { createFakeRealm } from '../support/fake-realm.ts';

const definition = defineOutbox({ note: record() });

const CANNOT = "Failed to register a ServiceWorker for scope ('http://localhost/') with script ('/sw.js'): ";

/** Connects where registering fails with `cause`. */
function failToConnect(cause: unknown, worker: ConnectOptions['worker'] = '/sw.js'): Promise<unknown> {
  const serviceWorker = { register: () => Promise.reject(cause) };
  const realm = createFakeRealm(createManualClock(), { serviceWorker });
  return connectOutbox(definition, { worker, realm }).catch((error: unknown) => error);
}

describe('a page that gets no host', () => {
  it('[W13, W15] is told in the message why, and keeps the cause', async () => {
    const cause = new TypeError('A bad HTTP response code (404) was received when fetching the script.');
    const error = await failToConnect(cause);
    expect(error).toBeInstanceOf(NoHostError);
    expect(error).toMatchObject({
      message: `No worker, and no fallback: ${cause}`,
      cause,
    });
  });

  it.each([
    { engine: 'Chromium', text: `${CANNOT}ServiceWorker script evaluation failed` },
    {
      engine: 'Firefox',
      text: 'ServiceWorker script at /sw.js for scope / threw an exception during script evaluation.',
    },
    { engine: 'WebKit', text: "Unexpected token '{'. import call expects one or two arguments." },
  ])('[W13] of a script that $engine could not run is asked whether it is a module', async ({ text }) => {
    const message = `No worker, and no fallback: TypeError: ${text}; a module? registration: { type: 'module' }`;
    expect(await failToConnect(new TypeError(text))).toMatchObject({ message });
  });

  it('[W40] is told so too where it asked for the engine in the page and gave no fallback', async () => {
    const message = 'No worker, and no fallback: page';
    expect(await failToConnect(undefined, 'page')).toMatchObject({ code: 'no_host', message });
  });

  it.each([
    { connectMs: undefined, limitMs: 15_000 },
    { connectMs: 2_000, limitMs: 2_000 },
  ])(
    '[W13] waits $limitMs ms for a browser that never answers the registration',
    async ({ connectMs, limitMs }) => {
      const clock = createManualClock();
      const serviceWorker = { register: () => new Promise<never>(() => undefined) };
      const realm = createFakeRealm(clock, { serviceWorker });
      let error: unknown;
      connectOutbox(definition, { worker: '/sw.js', realm, connectMs }).catch((cause: unknown) => {
        error = cause;
      });
      await clock.advance(limitMs - 1);
      expect(error).toBeUndefined();
      await clock.advance(1);
      expect(error).toBeInstanceOf(NoHostError);
    },
  );

  it('[W13] is told that the browser has no workers', async () => {
    const realm = createFakeRealm(createManualClock());
    await expect(connectOutbox(definition, { worker: '/sw.js', realm })).rejects.toMatchObject({
      message: 'No worker, and no fallback: NoHostError: No service workers here',
    });
  });
});
