/** The person's choice whether what waits on this device is encrypted; kept where the worker can read it too. */
import { createStore } from './store.ts';

const PLACE = { cache: 'basement-log:device', key: '/device/encrypts' };

export const encryptionChoice = createStore(false);

export async function loadEncryptionChoice(): Promise<void> {
  encryptionChoice.set((await caches.match(PLACE.key, { cacheName: PLACE.cache })) !== undefined);
}

export async function chooseEncryption(isOn: boolean): Promise<void> {
  const cache = await caches.open(PLACE.cache);
  if (isOn) await cache.put(PLACE.key, new Response('on'));
  else await cache.delete(PLACE.key);
  encryptionChoice.set(isOn);
}
