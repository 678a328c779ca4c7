/** Whether this browser keeps keys that no script can read in IndexedDB (W63). */
import { promisifyRequest } from 'idb-keyval';
import { createWebCipher } from './web-cipher.ts';

const PLACE = 'holdfast-can-keep-keys';

/**
 * Makes a key, stores it, reads it back from another connection and opens with it what it had sealed before; then
 * removes all of it. Takes some ten ms. Never rejects.
 */
export async function canKeepKeys(): Promise<boolean> {
  const cipher = createWebCipher(globalThis.crypto?.subtle, globalThis.crypto);
  let name: string | undefined;
  const open = async (place: string): Promise<IDBDatabase> => {
    const request = indexedDB.open(place, 1);
    request.onupgradeneeded = () => request.result.createObjectStore('keys');
    return promisifyRequest(request);
  };
  try {
    const key = await cipher.makeKey();
    name = `${PLACE}-${globalThis.crypto.randomUUID()}`;
    const sealed = await cipher.seal(key, new Uint8Array([1, 2, 3]), PLACE);
    const first = await open(name);
    const write = first.transaction('keys', 'readwrite');
    write.objectStore('keys').put(key, 'key');
    await promisifyRequest(write);
    first.close();
    const second = await open(name);
    const read: unknown = await promisifyRequest(second.transaction('keys').objectStore('keys').get('key'));
    second.close();
    if (!cipher.isKey(read) || read.seal.extractable) return false;
    return (await cipher.open(read, sealed, PLACE)).join() === '1,2,3';
  } catch {
    return false;
  } finally {
    try {
      if (name !== undefined) await promisifyRequest(indexedDB.deleteDatabase(name));
    } catch {
      // Where there is no IndexedDB nothing was left in it.
    }
  }
}
