/**
 * The lab's offline switch: page and worker both stop reaching the server while it is on. It is kept in Cache
 * Storage, where a worker can read it after it was stopped.
 */
import { createStore } from './store.ts';

const PLACE = { cache: 'basement-log:lab', key: '/lab/offline' };

export const offlineSwitch = createStore(false);

export async function loadOfflineSwitch(): Promise<void> {
  const found = await caches.match(PLACE.key, { cacheName: PLACE.cache });
  offlineSwitch.set(found !== undefined);
}

export async function setOfflineSwitch(isOn: boolean): Promise<void> {
  const cache = await caches.open(PLACE.cache);
  if (isOn) await cache.put(PLACE.key, new Response('on'));
  else await cache.delete(PLACE.key);
  offlineSwitch.set(isOn);
}

/** `fetch`, unless the switch says that there is no connection. */
export async function fetchHere(input: string, init?: RequestInit): Promise<Response> {
  if (offlineSwitch.getSnapshot()) throw new TypeError('The lab has switched the connection off');
  return await fetch(input, init);
}
