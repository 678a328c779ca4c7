/** How fast what waits is sent, beside a bare loop and the peers, in rounds that alternate. */

import type { BenchWorld, OutboxAt } from './bench-world.ts';
import { ROW_BYTES } from './common/definition.ts';
import { median } from './common/metrics.ts';
import type { Samples } from './common/samples.ts';

const ROWS = 1_000;
const DELAY_MS = 50;

export interface DrainPlan {
  readonly rounds: number;
  /** With 50 ms of delay; the serial peers send a part, and their time is scaled. */
  readonly delayedRounds: number;
  readonly delayedSerialRows: number;
  readonly secure: boolean;
  readonly growthRows: number;
}

export async function fill(outbox: OutboxAt, rows: number, bytes: number = ROW_BYTES): Promise<void> {
  await outbox.call('pause');
  await outbox.call('enqueueMany', rows, bytes);
}

/** Sends everything, and makes sure that the server has it. */
async function drain(world: BenchWorld['server'], outbox: OutboxAt, rows: number): Promise<number> {
  world.forget();
  const ms = await outbox.call('drain');
  if (world.appliedCount !== rows) throw new Error(`The server has ${world.appliedCount} of ${rows} rows`);
  return ms;
}

export async function measureDrains(world: BenchWorld, plan: DrainPlan, samples: Samples): Promise<void> {
  const { server } = world;
  const outbox = await world.openOutbox('drain');
  const peers = await world.openPeers('peers');
  const bare = async (count: number, concurrency = 6): Promise<number> =>
    (await peers.call('ask', { op: 'bare', count, concurrency })).ms;

  // One round warms everything up.
  await fill(outbox, 100);
  await drain(server, outbox, 100);
  await bare(100);
  for (let round = 0; round < plan.rounds; round++) {
    await fill(outbox, ROWS);
    const bareMs = await bare(ROWS);
    const serialMs = await bare(ROWS, 1);
    const ms = await drain(server, outbox, ROWS);
    const workbox = await peers.call('ask', { op: 'workbox', count: ROWS, concurrency: 1 });
    await outbox.call('pause');
    const burstMs = await outbox.call('enqueueBurst', ROWS);
    await drain(server, outbox, ROWS);
    samples.add('drain_1000_vs_bare_c6', ms / bareMs);
    samples.add('drain_1000_vs_workbox', ms / workbox.ms);
    samples.add('enqueue_burst_vs_workbox', burstMs / (workbox.pushMs ?? Number.NaN));
    samples.report('ms_bare_c6_1000', 'ms', bareMs);
    samples.report('ms_bare_serial_1000', 'ms', serialMs);
    samples.report('ms_drain_1000', 'ms', ms);
    samples.report('ms_workbox_replay_1000', 'ms', workbox.ms);
    samples.report('ms_workbox_push_1000', 'ms', workbox.pushMs ?? Number.NaN);
    samples.report('ms_enqueue_burst_1000', 'ms', burstMs);
  }

  server.delayMs = DELAY_MS;
  for (let round = 0; round < plan.delayedRounds; round++) {
    await fill(outbox, ROWS);
    const bareMs = await bare(ROWS);
    const ms = await drain(server, outbox, ROWS);
    const serialRows = plan.delayedSerialRows;
    const { ms: serialMs } = await peers.call('ask', { op: 'workbox', count: serialRows, concurrency: 1 });
    samples.add('drain_1000_50ms_vs_bare_c6', ms / bareMs);
    samples.add('drain_1000_50ms_vs_workbox', ms / ((serialMs * ROWS) / serialRows));
    samples.report('ms_drain_1000_50ms', 'ms', ms);
    samples.report('ms_bare_c6_1000_50ms', 'ms', bareMs);
  }
  server.delayMs = 0;

  await measureGrowth(world, outbox, plan.growthRows, samples);
  await outbox.page.close();
  await peers.page.close();
  if (plan.secure) await measureSecure(world, plan, samples);
}

async function measureGrowth(
  { server }: BenchWorld,
  outbox: OutboxAt,
  rows: number,
  samples: Samples,
): Promise<void> {
  const small: number[] = [];
  for (let round = 0; round < 7; round++) {
    await fill(outbox, 100);
    small.push((await drain(server, outbox, 100)) / 100);
  }
  await fill(outbox, rows);
  const large = (await drain(server, outbox, rows)) / rows;
  samples.add('drain_growth_10000', large / median(small));
  samples.report('ms_per_row_at_100', 'ms', ...small);
  samples.report('ms_per_row_at_10000', 'ms', large);
}

async function measureSecure(world: BenchWorld, plan: DrainPlan, samples: Samples): Promise<void> {
  const { secure } = world;
  const concurrency = 32;
  const outbox = await world.openOutbox('drain', { server: secure, concurrency });
  const peers = await world.openPeers('peers', secure);
  await fill(outbox, 100);
  await drain(secure, outbox, 100);
  secure.delayMs = DELAY_MS;
  for (let round = 0; round <= plan.rounds; round++) {
    await fill(outbox, ROWS);
    const { ms: bareMs } = await peers.call('ask', { op: 'bare', count: ROWS, concurrency });
    const ms = await drain(secure, outbox, ROWS);
    // The first round opens the connection and warms both up.
    if (round === 0) continue;
    samples.add('drain_h2_50ms_vs_bare_c32', ms / bareMs);
    samples.report('ms_drain_1000_h2_50ms', 'ms', ms);
    samples.report('ms_bare_c32_1000_h2_50ms', 'ms', bareMs);
  }
  secure.delayMs = 0;
  await outbox.page.close();
  await peers.page.close();
}
