/**
 * T30.5: faults stop, a trigger fires, and in bounded time nothing is left that could be sent. Then everything that
 * pages were told is held against what the server has and what is stored.
 */
import { isSealed } from '../../outbox/sealed-body.ts';
import { isInDoubt } from '../../outbox/standing.ts';
import type { SimulatedHost } from './host.ts';
import type { Step } from './loop.ts';
import { createRandom } from './random.ts';
import { isAtRest, OWNERS, readEntries, type World } from './world.ts';

type Run = (step: Step) => Promise<void>;

const MOST_STEPS = 20_000;
const MOST_ROUNDS = 60;
/** The longest wait that is believed, and some leases. */
const MOST_MS = 3 * 3_600_000;
/** Time for what had begun to end by its limits. */
const RUNS_OUT_MS = 60_000;
/** When a page that is open looks again, where nothing says when it should. */
const LOOKS_AGAIN_MS = 15_000;

export async function comeToRest(
  world: World,
  run: Run,
  trace?: ((line: string) => void) | undefined,
): Promise<void> {
  const { truth } = world;
  stopFaults(world);
  await runOut(world, run);
  for (const owner of OWNERS) {
    if (truth.broken.length > 0) return;
    trace?.(`rest of ${owner}`);
    await restOf(world, owner, run);
  }
  for (const owner of OWNERS) if (truth.broken.length === 0) await checkViews(world, owner, run);
  if (truth.broken.length === 0) await checkTold(world);
  if (truth.broken.length === 0) await checkLedger(world);
}

function stopFaults({ weather, network, server, ledger, loop }: World): void {
  weather.storeFaults.length = 0;
  weather.readFaults = 0;
  for (const faults of Object.values(weather.appFaults)) faults.length = 0;
  weather.isOnline = true;
  weather.session = { ...weather.session, isOpen: true };
  weather.lateAnswers = 0;
  network.faults.length = 0;
  network.mishaps.length = 0;
  network.deafLookups = 0;
  network.reachable = true;
  server.reachable = true;
  ledger.isHanging = false;
  loop.frozen.clear();
}

/** Lets everything happen, and time pass, until `promise` has an answer. */
async function drive<T>(world: World, what: string, promise: Promise<T>, run: Run): Promise<T | undefined> {
  const { loop, truth } = world;
  const random = createRandom(world.script.seed);
  world.random = random;
  let settled: { readonly value: T } | undefined;
  let failed = false;
  promise.then(
    (value) => {
      settled = { value };
    },
    (error: unknown) => {
      failed = true;
      truth.breaks('T30.5', `${what} failed with ${String(error)}`);
    },
  );
  const until = loop.passed + MOST_MS;
  for (let n = 0; n < MOST_STEPS && loop.passed < until; n++) {
    if (settled || failed || truth.broken.length > 0) return settled?.value;
    const ready = loop.ready();
    const step = ready[random.below(ready.length)];
    if (step) {
      await run(step);
      continue;
    }
    const wait = loop.untilTimer();
    if (wait === undefined) break;
    loop.pass(wait);
  }
  truth.breaks('T30.5', `${what} does not end`);
  return undefined;
}

/** What had begun comes to its end, or to nothing; a ledger that hung is asked again in that time. */
async function runOut(world: World, run: Run): Promise<void> {
  const { loop } = world;
  const over = new Promise<void>((resolve) => loop.after('', RUNS_OUT_MS, resolve));
  await drive(world, 'what had begun', over, run);
}

async function restOf(world: World, owner: string, run: Run): Promise<void> {
  const { loop, truth } = world;
  world.owner = owner;
  const host = (): SimulatedHost => world.host(0);
  await drive(world, `signing ${owner} in`, world.signIn(host(), owner), run);
  const connect = world.call(host(), 'a page connects', async (engine) => {
    await engine.resume(owner);
    await world.syncSnapshot(engine, owner, false);
  });
  await drive(world, 'connecting', connect, run);
  const until = loop.passed + MOST_MS;
  for (let round = 0; round < MOST_ROUNDS && loop.passed < until; round++) {
    const flush = world.call(host(), `flush ${owner}`, (engine) => engine.flush(owner, 'flush'));
    await drive(world, 'a flush', flush, run);
    if (truth.broken.length > 0) return;
    const own = [...truth.rows.values()].filter((row) => row.owner === owner);
    if (own.every((row) => isAtRest(row, truth.rows, isInDoubt))) return;
    const { wakeAt } = host().engine.progress(owner);
    const wait = wakeAt === undefined ? LOOKS_AGAIN_MS : wakeAt - loop.now();
    loop.pass(Math.min(MOST_MS / 2, Math.max(1, wait)));
  }
  const left = [...truth.rows.values()].filter(
    (row) => row.owner === owner && !isAtRest(row, truth.rows, isInDoubt),
  );
  const told = left.map(
    ({ id, kind, state, blockedCode = '' }) => `${id.slice(-4)} ${kind} ${state} ${blockedCode}`,
  );
  truth.breaks('T30.5', `${owner} does not come to rest: ${told.join(', ')}`);
}

/** T30.4, T30.6: what a page sees is its owner's, all of it, and can be read. */
async function checkViews(world: World, owner: string, run: Run): Promise<void> {
  const { truth } = world;
  const own = [...truth.rows.values()].filter((row) => row.owner === owner);
  const read = world.call(world.host(0), 'everything', async (engine) => {
    const { rows, counts } = await engine.rows(owner, { limit: 10_000 });
    const exported = await engine.exportOwner(owner);
    await engine.journal(owner, undefined, 100);
    for (const { id } of rows) await engine.explain(owner, id);
    return { rows, counts, exported };
  });
  const seen = await drive(world, `reading what ${owner} has`, read, run);
  if (!seen) return;
  if (seen.rows.some((row) => row.owner !== owner)) truth.breaks('T30.4', `${owner} sees what is not theirs`);
  const sorted = (ids: readonly string[]): string => [...ids].sort().join(' ');
  if (sorted(seen.rows.map(({ id }) => id)) !== sorted(own.map(({ id }) => id)))
    truth.breaks('T30.6', `${owner} sees other rows than are stored`);
  for (const state of ['queued', 'sending', 'held', 'blocked'] as const) {
    const count = own.filter((row) => row.state === state).length;
    if (seen.counts[state] !== count)
      truth.breaks(
        'S2',
        `${seen.counts[state]} ${state} rows of ${owner} are counted, and ${count} are stored`,
      );
  }
  for (const { row, body } of seen.exported.rows)
    if (row.bodyId !== undefined && body === undefined && row.blockedCode !== 'body_unreadable')
      truth.breaks('T30.1', `${row.id.slice(-4)} has lost its content`);
}

/** W63: what the ledger holds is as it is stored. */
async function checkLedger({ script, ledger, truth }: World): Promise<void> {
  if (!script.isEncrypted) return;
  for (const { content } of await readEntries(ledger))
    if ('body' in content && !isSealed(content.body))
      truth.breaks('W63', `the ledger holds the body of ${content.id.slice(-4)} as it is`);
}

/** T30.1: a command that was told as saved is applied, waits with its content, or ended as it may. */
async function checkTold({ truth }: World): Promise<void> {
  for (const { command } of truth.told) {
    const { id, kind } = command;
    if (truth.isExcused(id)) continue;
    const fate = truth.fateOf(id);
    if (fate.type === 'lost') truth.breaks('T30.1', `${kind} ${id.slice(-4)} was told as saved, and is lost`);
    if (fate.type === 'ended' && fate.end === 'committed')
      truth.breaks('T30.1', `${kind} ${id.slice(-4)} ended as committed, and the server does not have it`);
  }
}
