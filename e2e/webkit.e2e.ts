/** WebKitGTK with the real worker, page and reference server. */
import { describe, expect, it } from 'vitest';
import { describeEngine } from './engines/describe-engine.ts';
import { engineWorld } from './engines/engine-world.ts';
import { webkit } from './engines/engines.ts';
import { launchWebKit } from './support/launch-webkit.ts';
import { type NetworkNamespace, openNetworkNamespace, whyNoNamespace } from './support/network-namespace.ts';

describeEngine(webkit);

// No driver switches its network, but a link can be pulled.
const trouble = webkit.missing ?? whyNoNamespace();
if (trouble !== undefined) console.warn(`WebKitGTK without a network is not tested here. ${trouble}`);

describe.skipIf(trouble !== undefined)('the outbox in WebKitGTK, without a network', () => {
  let network: NetworkNamespace;
  const world = engineWorld({
    ...webkit,
    async launch() {
      network = await openNetworkNamespace({ hasRoute: true });
      const browser = await launchWebKit({ namespace: network });
      return {
        ...browser,
        async close() {
          await browser.close();
          await network.remove();
        },
      };
    },
  });

  it('[W22, W20] asks for nothing while the link is pulled, and sends on the page’s word that it is back', async () => {
    await network.forward(Number(new URL(world.wire.url).port));
    const visit = await world.visit();
    await visit.connect();
    await visit.whenView({ isReady: true, connection: 'online' });
    network.linkDown();
    await visit.whenView({ connection: 'offline' });
    const ids = [await visit.create(60), await visit.create(70)];
    expect(await visit.flush()).toMatchObject({ stoppedBy: 'network', remaining: { queued: ids.length } });
    expect(ids.map(world.sent)).toEqual([0, 0]);
    network.linkUp();
    for (const id of ids) expect(await visit.settled(id)).toMatchObject({ type: 'uploaded', id });
    expect(await visit.posted()).toContain('online');
    await visit.whenView({ rows: [], connection: 'online' });
    await world.expectApplied(ids);
  });
});
