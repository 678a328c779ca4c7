/**
 * Chaos in a real browser (T30): half a minute in the suite, for as long as one likes with
 * `npm run chaos -- --minutes 60 --seed 1`. What happens when is the machine's business, so a seed is a mixture and
 * not a story; the simulator (T31) tells stories.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Chaos, playChaos, type Totals } from './chaos/play-chaos.ts';
import { reconcile } from './chaos/reconcile.ts';
import { type OutboxAppServer, serveOutboxApp } from './support/outbox-app/serve-outbox-app.ts';

const MINUTES = Number(process.env['CHAOS_MINUTES'] ?? 0.4);
const SEED = Number(process.env['CHAOS_SEED'] ?? 1);
/** A story is this long at most: then everything comes to rest, and another one begins. */
const LONGEST_MS = 45_000;

let app: OutboxAppServer;
beforeAll(async () => {
  app = await serveOutboxApp();
});
afterAll(() => app?.close());

it('[T30] whatever befalls tabs, worker, browser and server, what was told as saved is there, once and in order', {
  timeout: MINUTES * 60_000 * 3 + 240_000,
  retry: 0,
}, async () => {
  const totals: Record<string, number> = {};
  const until = Date.now() + MINUTES * 60_000;
  for (let seed = SEED; Date.now() < until || seed === SEED; seed++) {
    await app.reset();
    const chaos: Chaos = await playChaos(app, seed, Math.min(LONGEST_MS, MINUTES * 60_000));
    try {
      const broken = reconcile(chaos, await app.server.statistics('ada'));
      if (broken.length > 0) expect.fail(`seed ${seed}\n${broken.join('\n')}`);
      add(totals, chaos.totals);
      expect(chaos.totals.told).toBeGreaterThan(0);
    } finally {
      await chaos.close();
    }
    // One refusal is due: of what aims at a resource that another call has deleted.
    for (const { kind, n, error = '' } of chaos.commands)
      if (error !== '' && !error.includes('target_deleted')) console.log(`refused ${kind} ${n}: ${error}`);
    console.log(`chaos to seed ${seed} ${JSON.stringify(totals)}`);
  }
});

function add(sums: Record<string, number>, totals: Totals): void {
  for (const [name, count] of Object.entries(totals)) sums[name] = (sums[name] ?? 0) + count;
}
