/** What saving costs: warm, cold, and with many rows waiting. */
import { type BenchWorld, type OutboxAt, quiet, stopWorker } from './bench-world.ts';
import { median, quantile } from './common/metrics.ts';
import type { Samples } from './common/samples.ts';
import type { Counts } from './common/worker-calls.ts';
import { fill } from './measure-drains.ts';

export interface EnqueuePlan {
  readonly rounds: number;
  readonly perRound: number;
  readonly coldRounds: number;
  /** Rows in the long queue; 0 leaves growth out. */
  readonly many: number;
}

export async function measureEnqueues(world: BenchWorld, plan: EnqueuePlan, samples: Samples): Promise<void> {
  const outbox = await world.openOutbox('enqueue');
  const peers = await world.openPeers('enqueue-peers');
  await outbox.call('enqueueEach', 30);
  await peers.call('rawPuts', 30);
  for (let round = 0; round < plan.rounds; round++) {
    const raw = await peers.call('rawPuts', plan.perRound);
    const own = await outbox.call('enqueueEach', plan.perRound);
    samples.add('enqueue_p50_vs_raw', median(own) / median(raw));
    samples.add('enqueue_p99_ms', quantile(own, 0.99));
    samples.report('ms_enqueue_p50', 'ms', median(own));
    samples.report('ms_raw_put_p50', 'ms', median(raw));
  }
  for (let round = 0; round < plan.coldRounds; round++) {
    await peers.workers.stop();
    const pingMs = await peers.call('ping');
    await stopWorker(outbox);
    const [ms = Number.NaN] = await outbox.call('enqueueEach', 1);
    samples.add('enqueue_cold_ms', ms / pingMs);
    samples.report('ms_enqueue_cold', 'ms', ms);
    samples.report('ms_ping_cold', 'ms', pingMs);
    await stopWorker(outbox);
    samples.report('ms_start_cold', 'ms', await outbox.call('pingBeside'));
    await stopWorker(outbox);
    samples.report('ms_open_cold', 'ms', await outbox.call('openRaw'));
  }
  if (plan.many > 0) await measureLongQueue(world, plan, samples);
  await peers.page.close();
  await outbox.page.close();
}

/** The same page and worker code with a short queue and with a long one, in turns. */
async function measureLongQueue(world: BenchWorld, plan: EnqueuePlan, samples: Samples): Promise<void> {
  const empty = await world.openOutbox('empty');
  const few = await world.openOutbox('few');
  const many = await world.openOutbox('many');
  await fill(few, 100);
  await many.call('seed', plan.many);
  await many.call('enqueueEach', 30);
  await few.call('enqueueEach', 30);
  // The page that shows them reads them once, which is no save's business.
  await many.call('viewed');
  await few.call('viewed');
  for (let round = 0; round < plan.rounds; round++) {
    const short = median(await few.call('enqueueEach', 50));
    const long = median(await many.call('enqueueEach', 50));
    samples.add('enqueue_growth_100000', long / short);
  }
  for (let round = 0; round < plan.coldRounds; round++) {
    await stopWorker(empty);
    const emptyMs = await empty.call('firstAnswer');
    await stopWorker(many);
    const manyMs = await many.call('firstAnswer');
    samples.add('open_growth_100000', manyMs / emptyMs);
    samples.report('ms_open_empty', 'ms', emptyMs);
    samples.report('ms_open_100000', 'ms', manyMs);
    await stopWorker(empty);
    const rawEmptyMs = await empty.call('openRaw');
    await stopWorker(many);
    const rawManyMs = await many.call('openRaw');
    samples.report('ms_open_raw_empty', 'ms', rawEmptyMs);
    samples.report('ms_open_raw_100000', 'ms', rawManyMs);
    samples.report('open_growth_raw', 'ratio', rawManyMs / rawEmptyMs);
  }
  await countLongQueue({ 0: empty, 100: few, 100000: many }, samples);
  for (const { page } of [empty, few, many]) await page.close();
}

/** What a save and a start ask of IndexedDB, by the number of rows waiting: the proof that nothing of it grows. */
async function countLongQueue(queues: Readonly<Record<number, OutboxAt>>, samples: Samples): Promise<void> {
  const saves = 20;
  for (const [rows, outbox] of Object.entries(queues)) {
    const counts = async (): Promise<Counts> => {
      const counted = await outbox.call('ask', { op: 'counts' });
      if (!counted) throw new Error('The worker was stopped while it counted');
      return counted;
    };
    await stopWorker(outbox);
    await outbox.call('ask', { op: 'count', full: Number(rows) || Number.MAX_SAFE_INTEGER });
    await outbox.call('firstAnswer');
    await quiet();
    const started = await counts();
    await outbox.call('enqueueEach', saves);
    const saved = await counts();
    const operations = (of: Counts): number => Object.values(of.operations).reduce((sum, n) => sum + n, 0);
    samples.report(`operations_at_start_${rows}`, 'count', operations(started));
    samples.report(`rows_read_at_start_${rows}`, 'count', started.rowsRead);
    samples.report(`operations_per_save_${rows}`, 'count', (operations(saved) - operations(started)) / saves);
    samples.report(`rows_read_per_save_${rows}`, 'count', (saved.rowsRead - started.rowsRead) / saves);
  }
}
