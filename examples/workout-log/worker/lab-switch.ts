/** The lab's offline switch, as the page keeps it (page/lab-switch.ts); read anew each time, since workers come and go. */
const PLACE = { cache: 'basement-log:lab', key: '/lab/offline' };

/** `fetch`, unless the switch says that there is no connection. */
export async function fetchHere(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  if (await caches.match(PLACE.key, { cacheName: PLACE.cache })) {
    throw new TypeError('The lab has switched the connection off');
  }
  return await fetch(input, init);
}
