/** Plays a script: its actions one by one, then rest (T30, T31). Stops at the first promise that is broken. */

import type { CommandInput } from '../../../shared/command.ts';
import { CommitUnknownError } from '../../../shared/errors.ts';
import type { Row } from '../../../shared/row.ts';
import { sendAsOlderRelease } from './older-release.ts';
import { createRandom } from './random.ts';
import { comeToRest } from './rest.ts';
import { type Action, describeAction, type Script } from './script.ts';
import type { Subject } from './subject.ts';
import { createWorld, nameOf, OWNERS, type World } from './world.ts';

export interface Played {
  readonly script: Script;
  /** Broken promises, the clause first; empty where all were kept. */
  readonly broken: readonly string[];
  readonly steps: number;
  readonly requests: number;
  readonly applied: number;
}

/** The longest that a run of steps waits for a timer, in ms. */
const PATIENCE_MS = 15_000;

export async function play(
  script: Script,
  subject?: Subject | undefined,
  trace?: ((line: string) => void) | undefined,
): Promise<Played> {
  const world = createWorld(script, subject);
  const { loop, truth, server } = world;
  let steps = 0;
  const run = async (step: Parameters<typeof loop.run>[0]): Promise<void> => {
    steps++;
    trace?.(`    ${step.name()}`);
    await loop.run(step);
  };
  for (const action of script.actions) {
    trace?.(describeAction(action));
    if (action.type === 'steps') {
      const random = createRandom(action.salt);
      world.random = random;
      for (let n = 0; n < action.count && truth.broken.length === 0; n++) {
        const ready = loop.ready();
        const step = ready[random.below(ready.length)];
        if (step) {
          await run(step);
          continue;
        }
        const wait = loop.untilTimer();
        if (wait === undefined || wait > PATIENCE_MS) break;
        loop.pass(wait);
      }
    } else await act(world, action);
    if (truth.broken.length > 0) break;
  }
  if (truth.broken.length === 0) {
    trace?.('faults stop');
    await comeToRest(world, run, trace);
  }
  for (const host of world.hosts) world.kill(host);
  const { requests, applied } = server;
  return { script, broken: truth.broken, steps, requests: requests.length, applied: applied.length };
}

async function act(world: World, action: Action): Promise<void> {
  const { loop, weather, network, ledger, truth } = world;
  switch (action.type) {
    case 'steps':
      return;
    case 'enqueue':
      return enqueue(world, action);
    case 'repeat': {
      const command = world.issued[action.of % Math.max(1, world.issued.length)];
      if (!command) return;
      world.issued.push(command);
      truth.noteRepeat(command);
      return world.enqueue(world.host(action.host), command, 0);
    }
    case 'flush': {
      const { owner } = world;
      const { cause } = action;
      const asked = world.call(world.host(action.host), `flush ${owner} (${cause})`, (engine) =>
        engine.flush(owner, cause),
      );
      return ignore(asked);
    }
    case 'time':
      return loop.pass(action.ms);
    case 'jump':
      return loop.jump(action.ms);
    case 'person':
      return choose(world, action);
    case 'start':
      if (world.hosts.length < 4) world.start();
      return;
    case 'kill':
      return world.kill(world.host(action.host));
    case 'freeze':
      loop.frozen.add(world.host(action.host).name);
      return;
    case 'thaw':
      loop.frozen.delete(world.host(action.host).name);
      return;
    case 'power_cut':
      return world.powerCut(action.kept === 0 ? undefined : action.kept);
    case 'lose_store':
      return world.loseStore(action.snapshot);
    case 'snapshot': {
      const { owner } = world;
      const asked = world.call(world.host(action.host), 'a snapshot', (engine) =>
        world.syncSnapshot(engine, owner, true),
      );
      return ignore(asked);
    }
    case 'store':
      if (action.fault === 'read') weather.readFaults++;
      else weather.storeFaults.push(action.fault);
      return;
    case 'ledger':
      if (action.fault === 'fail') ledger.failNext(new Error('simulated: the ledger failed'));
      else ledger.isHanging = action.fault === 'hang';
      return;
    case 'server':
      network.faults.push(action.fault);
      return;
    case 'mishap':
      if (action.what === 'deaf_lookup') network.deafLookups++;
      else network.mishaps.push(action.what);
      return;
    case 'network':
      network.reachable = action.up;
      world.server.reachable = action.up;
      weather.isOnline = action.up || !action.isKnown;
      return;
    case 'app':
      weather.appFaults[action.what].push(action.fault);
      return;
    case 'resolver':
      weather.resolver = action.answer;
      return;
    case 'session': {
      const number = action.isOpen ? weather.session.number : weather.session.number + 1;
      weather.session = { isOpen: action.isOpen, number };
      world.server.requireHeaders = { session: `${number}` };
      return;
    }
    case 'sign_in': {
      const owner = OWNERS[action.owner % OWNERS.length] ?? OWNERS[0];
      world.owner = owner;
      return ignore(world.signIn(world.host(action.host), owner));
    }
    case 'sign_out': {
      const { owner } = world;
      if (action.policy === 'discard') truth.noteWithdrawal(owner);
      const asked = world.call(world.host(action.host), `sign ${owner} out, ${action.policy}`, (engine) =>
        engine.signOut(owner, action.policy),
      );
      return ignore(asked);
    }
    case 'elsewhere': {
      const records = world.known.filter(
        ({ owner, target, isDocument }) => owner === world.owner && target.type === 'id' && !isDocument,
      );
      const resource = records[action.of % Math.max(1, records.length)];
      if (resource?.target.type !== 'id') return;
      const { owner, family, target } = resource;
      world.server.change(owner, family, target.id, action.deletes ? undefined : { elsewhere: true });
      return;
    }
    case 'older_release':
      return sendAsOlderRelease(world, action.of, action.ends);
    case 'plant': {
      const id = `future-${world.nextNumber()}`;
      const value = { format: 2, id, owner: world.owner, shape: 'of a later release' };
      return world.store.plant({ owner: world.owner, seq: world.nextNumber() }, value, id);
    }
    case 'pause':
    case 'resume': {
      const { owner } = world;
      const asked = world.call(world.host(action.host), `${action.type} ${owner}`, (engine) =>
        action.type === 'pause' ? engine.pause(owner) : engine.resume(owner),
      );
      return ignore(asked);
    }
    case 'late_answers':
      weather.lateAnswers = action.often;
      return;
  }
}

/** What comes of it is seen by what it did. */
function ignore(promise: Promise<unknown>): void {
  promise.catch(() => undefined);
}

function enqueue(world: World, action: Extract<Action, { readonly type: 'enqueue' }>): void {
  const { owner, loop, subject, truth } = world;
  const { kind } = action;
  const n = world.nextNumber();
  const isDocument = kind === 'put' || kind === 'remove';
  const own = world.known.filter((one) => one.owner === owner && one.isDocument === isDocument);
  const resource = own[action.of % Math.max(1, own.length)];
  if (!resource) return;
  const { family, target } = resource;
  const hasBody = kind === 'create' || kind === 'update' || kind === 'put';
  const makesBody = subject.body ?? ((_: string, __: string, number: number) => ({ [`f${number}`]: number }));
  const revision = target.type === 'id' ? world.revisionOf(owner, family, target.id) : undefined;
  const creations = truth.told.filter(({ command }) => command.owner === owner && command.kind === 'create');
  const parents = (action.after ?? []).flatMap(
    (place) => creations[place % Math.max(1, creations.length)]?.command.id ?? [],
  );
  const command: CommandInput = {
    id: `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`,
    owner,
    family,
    kind,
    ...(kind !== 'create' && { target }),
    ...(hasBody && { body: makesBody(family, kind, n) }),
    ...(action.revision &&
      !isDocument &&
      kind !== 'create' &&
      revision !== undefined && { expectedRevision: revision }),
    ...(parents.length > 0 && { after: [...new Set(parents)] }),
    ...(action.urgent && { urgent: true }),
    ...(action.expires !== undefined && { expiresAt: loop.now() + action.expires }),
  };
  world.issued.push(command);
  world.enqueue(world.host(action.host), command, n);
}

function choose(world: World, action: Extract<Action, { readonly type: 'person' }>): void {
  const { truth, owner, subject } = world;
  const isCancel = action.does === 'cancel';
  const rows = [...truth.rows.values()].filter(
    (row) => row.owner === owner && (isCancel || row.state === 'blocked'),
  );
  const row = rows[action.of % Math.max(1, rows.length)];
  if (!row) return;
  const { id } = row;
  const host = world.host(action.host);
  const name = `${action.does} ${id.slice(-4)} of ${nameOf(row)}`;
  if (isCancel || action.does === 'discard') {
    truth.noteWithdrawal();
    ignore(
      world.call<unknown>(host, name, (engine) =>
        isCancel ? engine.cancel(owner, id) : engine.discard(owner, id),
      ),
    );
    return;
  }
  const n = world.nextNumber();
  const edited = action.does === 'recover' ? editedCopy(row, n, subject) : undefined;
  const asked = world.call(host, name, (engine) =>
    action.does === 'recover'
      ? engine.recover(owner, id, edited)
      : engine.retry(owner, id, { overwrite: action.does === 'overwrite' }),
  );
  asked.then(
    ({ row: made }) => {
      if (!made) return;
      const { family, kind } = made;
      truth.tell(
        { command: { id: made.id, owner, family, kind }, n },
        { action: 'queued', row: made, removed: [] },
      );
    },
    (error: unknown) => void (error instanceof CommitUnknownError),
  );
}

function editedCopy({ kind, family }: Row, n: number, { body }: Subject) {
  if (kind !== 'create' && kind !== 'update' && kind !== 'put') return undefined;
  return { body: body ? body(family, kind, n) : { [`f${n}`]: n } };
}
