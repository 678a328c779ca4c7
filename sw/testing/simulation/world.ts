/**
 * The simulated device, its pages and its server (T31): what stands between a script's actions and the engine. It
 * knows what a page would know, and asks the engine only what a page could ask.
 */
import type { CommandInput } from '../../../shared/command.ts';
import { CommitUnknownError } from '../../../shared/errors.ts';
import { keyToken, type Target } from '../../../shared/key.ts';
import { isIntent, keyOf, type Row } from '../../../shared/row.ts';
import type { SnapshotOffer, SnapshotPage } from '../../../shared/snapshot.ts';
import type { BodyEncryption } from '../../body-encryption.ts';
import { createEncryption } from '../../encryption/create-encryption.ts';
import type { Engine, Enqueued } from '../../engine.ts';
import type { LedgerEntry } from '../../mirror/ledger.ts';
import type { RowStore } from '../../outbox/row-store.ts';
import { createMemoryRowStore, type MemoryRowStore } from '../../storage/memory-row-store.ts';
import { createMemoryLedger, type MemoryLedger } from '../memory-ledger.ts';
import { createScriptedServer, type ScriptedServer } from '../scripted-server.ts';
import { createTestCipher } from '../test-encryption.ts';
import { createHost, LEASE_MS, type SimulatedHost, type Weather } from './host.ts';
import { createLoop, type Loop } from './loop.ts';
import { createNetwork, type Network } from './network.ts';
import { createRandom, type Random } from './random.ts';
import type { Script } from './script.ts';
import { DEFAULT_SUBJECT, type Subject } from './subject.ts';
import { createTruth, type Truth } from './truth.ts';

/** A resource that a page can name. */
export interface Known {
  readonly owner: string;
  readonly family: string;
  readonly isDocument: boolean;
  readonly target: Target;
}

export interface World {
  readonly script: Script;
  readonly subject: Subject;
  readonly loop: Loop;
  readonly server: ScriptedServer;
  readonly network: Network;
  readonly ledger: MemoryLedger;
  readonly weather: Weather;
  readonly truth: Truth;
  readonly known: Known[];
  readonly issued: CommandInput[];
  readonly hosts: readonly SimulatedHost[];
  /** Whoever the page thinks is signed in. */
  owner: string;
  random: Random;
  readonly store: MemoryRowStore;
  readonly watched: RowStore;
  /** Another one after every power cut and every loss: whoever ran before is gone. */
  readonly era: number;
  uuid(): string;
  nextNumber(): number;
  /** A running host; one is started where none runs. */
  host(place: number): SimulatedHost;
  start(): SimulatedHost;
  kill(host: SimulatedHost): void;
  /** What a page asks of a host: never answered if the host is gone by then. */
  call<T>(host: SimulatedHost, what: string, ask: (engine: Engine) => Promise<T>): Promise<T>;
  enqueue(host: SimulatedHost, command: CommandInput, n: number): void;
  signIn(host: SimulatedHost, owner: string): Promise<void>;
  /** Hands the snapshot over if it is asked for, and writes it anew otherwise. */
  syncSnapshot(engine: Engine, owner: string, writes: boolean): Promise<void>;
  /** The revision a page last heard of. */
  revisionOf(owner: string, family: string, target: string): number | undefined;
  powerCut(lost: number | undefined): Promise<void>;
  loseStore(snapshot: 'kept' | 'none' | 'unreadable'): Promise<void>;
}

export const OWNERS = ['ann', 'bob'] as const;
const START = 1_700_000_000_000;
const NAMES = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

export function createWorld(script: Script, subject: Subject = DEFAULT_SUBJECT): World {
  const loop = createLoop(START);
  const clock = loop;
  const server = createScriptedServer({
    clock,
    timers: {
      after: (ms, callback) =>
        loop.after('', ms, () => {
          callback();
          network.notice();
        }),
    },
  });
  const ledger = createMemoryLedger();
  const weather: Weather = {
    storeFaults: [],
    readFaults: 0,
    appFaults: { prepare: [], resolve: [], credentials: [] },
    isOnline: true,
    session: { isOpen: true, number: 1 },
    lateAnswers: 0.2,
    resolver: 'resend',
  };
  const { actions } = script;
  const happens = (...types: readonly string[]): boolean => actions.some(({ type }) => types.includes(type));
  const truth = createTruth({
    server,
    subject,
    passed: () => loop.passed,
    now: () => clock.now(),
    isUnderWay: (id) => network.underWay.has(id),
    clocksJump: happens('jump'),
    losesWitness: happens('lose_store') && happens('ledger'),
    repeatsAfterLoss: happens('lose_store') && happens('repeat'),
    canDrop: happens('resolver'),
    isEncrypted: script.isEncrypted,
  });
  const network: Network = createNetwork({
    loop,
    server,
    lingerMs: ({ id }) => LEASE_MS - (loop.passed - (truth.claimedAt(id) ?? loop.passed)),
    onSent: (who, request) => truth.sent(who, hosts.find(({ name }) => name === who)?.engine.host, request),
    onApplied: truth.applied,
    onGone: truth.noteGone,
  });
  let made = 0;
  const uuid = (): string => {
    made++;
    return `00000000-0000-4000-9000-${made.toString(16).padStart(12, '0')}`;
  };
  const holding = new Set<string>();
  const gone = new Set<string>();
  const locks = {
    hold: async (host: string) => {
      if (script.hasLocks) holding.add(host);
      return script.hasLocks;
    },
    check: async (host: string) =>
      script.hasLocks ? (holding.has(host) ? ('running' as const) : ('gone' as const)) : ('unknown' as const),
  };
  const newStore = (): MemoryRowStore => createMemoryRowStore({ clock, ids: { uuid } });
  let store = newStore();
  let watched = truth.watch(store);
  let hosts: SimulatedHost[] = [];
  let started = 0;
  let numbers = 0;
  let era = 0;
  let isSignInLost = false;
  const snapshots = new Map<string, SnapshotPage & { readonly at: number }>();
  let snapshotFate: 'kept' | 'unreadable' = 'kept';
  const revisions = new Map<string, number>();
  const known: Known[] = [];
  const place = (owner: string, family: string, target: string): string =>
    JSON.stringify([owner, family, target]);

  for (const owner of OWNERS)
    for (const [family, { type }] of Object.entries(subject.definition.families))
      for (const number of [1, 2]) {
        const id = `${family}-${number}`;
        known.push({ owner, family, isDocument: type === 'document', target: { type: 'id', id } });
        if (type === 'document') continue;
        revisions.set(place(owner, family, id), server.change(owner, family, id, {}));
      }

  const cipher = createTestCipher();
  const seals = createEncryption(cipher);
  const encryption: BodyEncryption | undefined = script.isEncrypted
    ? (parts) => {
        const sealed = seals(parts);
        return { ...sealed, store: truth.seeBodies(sealed.store) };
      }
    : undefined;

  const world: World = {
    script,
    subject,
    loop,
    server,
    network,
    ledger,
    weather,
    truth,
    known,
    issued: [],
    get hosts() {
      return hosts;
    },
    owner: OWNERS[0],
    random: createRandom(script.seed),
    get store() {
      return store;
    },
    get watched() {
      return watched;
    },
    get era() {
      return era;
    },
    uuid,
    nextNumber: () => ++numbers,
    host: (n) => hosts[n % Math.max(1, hosts.length)] ?? world.start(),
    start() {
      const name = NAMES[started % NAMES.length] ?? 'A';
      const number = started++;
      const full = number < NAMES.length ? name : `${name}${Math.floor(number / NAMES.length)}`;
      const host = createHost(
        full,
        number % 2 === 0 ? '0.1.0' : '0.2.0',
        number % 3 === 0 ? 6_000 : LEASE_MS,
        {
          loop,
          network,
          weather,
          store: watched,
          ledger,
          locks,
          subject,
          uuid,
          random: () => world.random,
          isGone: () => gone.has(full),
          encryption,
        },
      );
      hosts = [...hosts, host];
      host.engine.onChange(({ owner, entries }) => {
        for (const { outcome } of entries)
          if (outcome.type === 'committed')
            revisions.set(place(owner, outcome.row.family, outcome.receipt.target), outcome.receipt.revision);
      });
      if (isSignInLost) world.signIn(host, world.owner).catch(() => undefined);
      return host;
    },
    kill(host) {
      hosts = hosts.filter((other) => other !== host);
      gone.add(host.name);
      holding.delete(host.engine.host);
      loop.drop(host.name);
    },
    call: (host, what, ask) =>
      new Promise((resolve, reject) => {
        loop.add({
          who: host.name,
          name: () => `${host.name} is asked: ${what}`,
          run: () => void ask(host.engine).then(resolve, reject),
        });
      }),
    enqueue(host, command, n) {
      const told = { command, n };
      const { owner, family, kind, id } = command;
      if (kind === 'delete' && command.target?.type === 'pending') truth.noteDeleteOf(command.target.origin);
      const hear = ({ row, action, ...rest }: Enqueued): void => {
        truth.tell(told, { row, action, ...rest });
        if (
          kind === 'create' &&
          !known.some(({ target }) => target.type === 'pending' && target.origin === id)
        )
          known.push({
            owner,
            family,
            isDocument: false,
            target: { type: 'pending', origin: row?.origin ?? id },
          });
      };
      const asked = world.call(host, `${kind} ${id.slice(-4)} of ${nameOf(command)}`, async (engine) => {
        await world.syncSnapshot(engine, owner, false);
        return engine.enqueue(command);
      });
      asked.then(hear, (error: unknown) => {
        // A typed refusal left nothing behind (R46, G2), unless it is a repeat of what is stored.
        const isFirst = world.issued.filter((other) => other.id === id).length === 1;
        if (isFirst && !(error instanceof CommitUnknownError) && truth.rows.has(id))
          truth.breaks('R46', `${id.slice(-4)} was refused (${String(error)}) and is stored`);
      });
    },
    async signIn(host, owner) {
      await world.call(host, `sign ${owner} in`, (engine) => engine.signIn(owner));
      isSignInLost = false;
      if (world.owner === owner) network.account = owner;
    },
    async syncSnapshot(engine, owner, writes) {
      if (await engine.awaitsSnapshot(owner)) {
        const saved = snapshots.get(owner);
        const offer: SnapshotOffer =
          snapshotFate === 'unreadable'
            ? { type: 'unreadable' }
            : saved
              ? { type: 'snapshot', ...saved }
              : { type: 'none' };
        await engine.offerSnapshot(owner, offer);
        return;
      }
      if (!writes || snapshotFate === 'unreadable') return;
      const page = await engine.readSnapshot(owner, undefined);
      const saved = snapshots.get(owner);
      if (!saved || saved.epoch !== page.epoch || saved.generation <= page.generation)
        snapshots.set(owner, { ...page, at: loop.now() });
    },
    revisionOf: (owner, family, target) => revisions.get(place(owner, family, target)),
    async powerCut(lost) {
      era++;
      for (const host of hosts) world.kill(host);
      store.forgetRelaxed(lost);
      await truth.reread(store, 'power_cut');
    },
    async loseStore(snapshot) {
      era++;
      for (const host of hosts) world.kill(host);
      const entries = await readEntries(ledger);
      const kept = new Set(entries.map(({ content }) => content.id));
      if (snapshot === 'none') snapshots.clear();
      snapshotFate = snapshot === 'unreadable' ? 'unreadable' : 'kept';
      if (snapshot === 'kept')
        for (const saved of snapshots.values())
          for (const { row } of saved.rows) if (typeof row['id'] === 'string') kept.add(row['id']);
      truth.lose(kept);
      // No two databases are made at one instant, which their numbers begin with (R6).
      loop.pass(1);
      store = newStore();
      watched = truth.watch(store);
      isSignInLost = true;
      await truth.reread(store, 'lost');
    },
  };
  for (let n = 0; n < script.hosts; n++) world.start();
  return world;
}

/** What the ledger holds, whatever it was told to do to its next operation. */
export async function readEntries(ledger: MemoryLedger): Promise<readonly LedgerEntry[]> {
  const { isHanging } = ledger;
  ledger.isHanging = false;
  const read = () => ledger.entries(undefined, 10_000);
  const entries = await read().catch(read);
  ledger.isHanging = isHanging;
  return entries;
}

export function nameOf({ family, target }: Pick<CommandInput, 'family' | 'target'>): string {
  if (target === undefined) return family;
  return target.type === 'id' ? target.id : `${family} ${target.origin.slice(-4)}`;
}

/** Rows that only wait for rows that wait for a person (C20, W60): they are at rest. */
export function isAtRest(row: Row, all: ReadonlyMap<string, Row>, inDoubt: (row: Row) => boolean): boolean {
  if (row.state === 'blocked') return !inDoubt(row);
  if (!isIntent(row)) return false;
  const needs = [...(row.after ?? []), ...(row.target.type === 'pending' ? [row.target.origin] : [])];
  return needs.some((origin) =>
    [...all.values()].some(
      (other) => other.origin === origin && other.id !== row.id && isAtRest(other, all, inDoubt),
    ),
  );
}

export function rowsBeside(row: Row, all: ReadonlyMap<string, Row>): readonly Row[] {
  const token = keyToken(keyOf(row));
  return [...all.values()].filter((other) => other.id !== row.id && keyToken(keyOf(other)) === token);
}
