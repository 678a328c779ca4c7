/** MiniBrowser as a person starts it, without a driver: its profile is on the disk and outlives it. */
import { type Child, startChild } from './child-process.ts';
import type { LastingBrowser } from './engine.ts';
import { findWebKit } from './find-browser.ts';
import { openWebKitHome, type WebKitHome } from './launch-webkit.ts';

export async function launchMiniBrowser(home?: WebKitHome): Promise<LastingBrowser> {
  const place = home ?? (await openWebKitHome());
  let child: Child | undefined;
  const kill = async (): Promise<void> => {
    await child?.kill();
  };
  return {
    async open(url) {
      child = startChild(findWebKit().browser, [url], { env: place.env });
    },
    kill,
    relaunch: () => launchMiniBrowser(place),
    async close() {
      await kill();
      await place.remove();
    },
  };
}
