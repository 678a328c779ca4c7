import { afterEach, describe, expect, it, vi } from 'vitest';
import { RowsRemainError } from '../../../shared/errors.ts';

interface SyncEventStub {
  readonly tag: string;
  readonly lastChance: boolean;
  waitUntil(promise: Promise<unknown>): void;
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function load(registration: object) {
  const listeners: ((event: SyncEventStub) => void)[] = [];
  vi.stubGlobal('self', {
    __WB_DISABLE_DEV_LOGS: true,
    registration,
    addEventListener: (type: string, listener: (event: SyncEventStub) => void) =>
      type === 'sync' && listeners.push(listener),
  });
  // Workbox logs in development, and this is its real code.
  vi.stubGlobal('__WB_DISABLE_DEV_LOGS', true);
  const { workboxDoorbell } = await import('../../../sw/host/workbox-doorbell.ts');
  const fire = (tag: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      for (const listener of listeners)
        listener({ tag, lastChance: false, waitUntil: (promise) => promise.then(resolve, reject) });
    });
  return { workboxDoorbell, fire };
}

describe('workbox as the doorbell', () => {
  it('[W20] registers one standing tag and rings for it', async () => {
    const register = vi.fn(async () => undefined);
    const { workboxDoorbell, fire } = await load({ sync: { register } });
    const onSync = vi.fn(async () => undefined);
    await workboxDoorbell('holdfast', onSync).registerSync();
    expect(register).toHaveBeenCalledExactlyOnceWith('workbox-background-sync:holdfast');
    await fire('workbox-background-sync:holdfast');
    expect(onSync).toHaveBeenCalledOnce();
  });

  it('[W21] hands our rejection to the browser as it is, since it is an Error', async () => {
    const { workboxDoorbell, fire } = await load({ sync: { register: async () => undefined } });
    const error = new RowsRemainError('2 rows wait');
    workboxDoorbell('holdfast', () => Promise.reject(error));
    await expect(fire('workbox-background-sync:holdfast')).rejects.toBe(error);
  });

  it('[W21] swallows a refused registration', async () => {
    const register = vi.fn(() => Promise.reject(new DOMException('no', 'NotAllowedError')));
    const { workboxDoorbell } = await load({ sync: { register } });
    await workboxDoorbell('holdfast', async () => undefined).registerSync();
    expect(register).toHaveBeenCalledOnce();
  });

  it('[W21] calls at once where there is no sync', async () => {
    const { workboxDoorbell } = await load({});
    const onSync = vi.fn(async () => undefined);
    workboxDoorbell('holdfast', onSync);
    expect(onSync).toHaveBeenCalledOnce();
  });
});
