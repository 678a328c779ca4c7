/** WebKitGTK with the real worker, page and reference server. */
import { describe, expect, it } from 'vitest';
import { describeEngine } from './engines/describe-engine.ts';
import { engineWorld } from './engines/engine-world.ts';
import { webkit } from './engines/engines.ts';
import { launchWebKit } from './support/launch-webkit.ts';
import { type NetworkNamespace, openNetworkNamespace, whyNoNamespace } from './support/network-namespace.ts';

describeEngine(webkit);

describe.skipIf(webkit.missing !== undefined)('photos in WebKitGTK', () => {
  const world = engineWorld(webkit);

  it('[S12, W12] a session in memory keeps no Blob: the call says so, nothing of it is stored, and all else goes on', async () => {
    const visit = await world.visit();
    await visit.connect();
    const release = world.hold('before');
    const before = await visit.create(60);
    const attach = (asFile: boolean) =>
      visit.tab.run(
        async (origin, isFile) => {
          const bytes = new Uint8Array(3_000_000);
          const picture = isFile ? new File([bytes], 'a.jpg', { type: 'image/jpeg' }) : new Blob([bytes]);
          const { photo } = globalThis.outboxApp.outbox;
          try {
            await photo.create({ picture }, { under: { workout: { type: 'pending', origin } } });
            return ['stored'];
          } catch (error) {
            return error instanceof Error ? [error.name, Reflect.get(error, 'code')] : [error];
          }
        },
        before,
        asFile,
      );
    for (const asFile of [true, false])
      expect(await attach(asFile)).toEqual(['OutboxUnavailableError', 'outbox_unavailable']);
    expect(await visit.left()).toEqual({ rows: 1, bodies: 1 });
    const after = await visit.create(70);
    release();
    for (const id of [before, after]) expect(await visit.settled(id)).toMatchObject({ type: 'uploaded' });
    await world.expectApplied([before, after]);
  });

  it('[W60] on a profile on the disk one goes through the whole line', async () => {
    const browser = await webkit.launchLasting();
    try {
      await browser.open(`${world.wire.url}/?then=photo`);
      expect(await world.told()).toEqual({ photo: 'uploaded' });
    } finally {
      await browser.close();
    }
  });
});

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
