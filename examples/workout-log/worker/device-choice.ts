/** Whether the person wants what waits here to be encrypted, as the page keeps it (page/device-choice.ts). */
const PLACE = { cache: 'basement-log:device', key: '/device/encrypts' };

export async function isEncryptionChosen(): Promise<boolean> {
  return (await caches.match(PLACE.key, { cacheName: PLACE.cache })) !== undefined;
}
