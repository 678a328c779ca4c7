/**
 * The same engine over memory (W52): a clock moved by hand, a scripted server, switches for offline and kill, and as
 * many hosts over one store as a test wants. An app's own tests run in milliseconds without a browser.
 *
 * ```ts
 * const world = createTestWorld({ definition });
 * const { engine } = await world.start();
 * await engine.signIn('ann');
 * await engine.enqueue({ id, owner: 'ann', family: 'workout', kind: 'create', body });
 * world.server.next({ type: 'drop_answer' });
 * await world.run(engine.flush('ann', 'flush'));
 * ```
 */
import type { CommandInput } from '../../shared/command.ts';
import type { OutboxDefinition } from '../../shared/family.ts';
import { createEngine } from '../create-engine.ts';
import { aimAtReceipt } from '../dispatch/aim-at-receipt.ts';
import type { Credentials } from '../dispatch/credentials.ts';
import type { FamilyPorts } from '../dispatch/family-ports.ts';
import type { Reported } from '../dispatch/report.ts';
import type { Engine } from '../engine.ts';
import type { EngineOptions } from '../engine-options.ts';
import type { HostLocks } from '../environment.ts';
import type { Ledger } from '../mirror/ledger.ts';
import type { RowStore } from '../outbox/row-store.ts';
import { sha256 } from '../sha256.ts';
import { createMemoryRowStore, type MemoryRowStore } from '../storage/memory-row-store.ts';
import { createKillSwitch } from './kill-switch.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { ledgerSeenBy } from './memory-ledger.ts';
import { createScriptedServer, type ScriptedServer } from './scripted-server.ts';

export interface TestWorldOptions extends Partial<Omit<EngineOptions, 'definition' | 'ports'>> {
  readonly definition: OutboxDefinition;
  /** By family; the scripted server's `findReceipt` and `readCurrent` stand in where a family has none of its own. */
  readonly ports?: Readonly<Record<string, FamilyPorts>> | undefined;
  /** Whether families can ask the scripted server for receipts. Default true. */
  readonly canAsk?: boolean | undefined;
  /** Whether hosts hold locks (C6). Default true; without, the lease decides. */
  readonly hasLocks?: boolean | undefined;
  /** The hosts' own witness (S20); without one a lost store is lost. */
  readonly ledger?: Ledger | undefined;
  /** Where the clock starts, epoch ms. */
  readonly startAt?: number | undefined;
}

export interface TestHost {
  readonly engine: Engine;
  /** Ends this host between two instructions: nothing it had begun goes on, its lock is free. */
  kill(): void;
}

export interface TestWorld {
  readonly clock: ManualClock;
  readonly server: ScriptedServer;
  readonly store: MemoryRowStore;
  /** What the report port heard, of all hosts. */
  readonly reported: readonly Reported[];
  /** What the realm says of the network (W22). The server has a switch of its own. */
  isOnline: boolean;
  /** Asked by every host that has no port of its own; by default nobody needs headers. */
  credentials: Credentials;
  /** A new host over the same store, or over another view of it. */
  start(store?: RowStore): Promise<TestHost>;
  /** Moves the clock until `promise` has settled. */
  run<T>(promise: Promise<T>): Promise<T>;
  /** A fresh id, the same in every run. */
  uuid(): string;
}

export function createTestWorld(options: TestWorldOptions): TestWorld {
  const { definition, canAsk = true, hasLocks = true } = options;
  const clock = createManualClock(options.startAt);
  const server = createScriptedServer({ clock, timers: clock });
  let made = 0;
  const uuid = (): string => {
    made++;
    return `00000000-0000-4000-8000-${made.toString(16).padStart(12, '0')}`;
  };
  const running = new Set<string>();
  const reported: Reported[] = [];
  const store = createMemoryRowStore({ clock, ids: { uuid } });

  const locks: HostLocks = {
    async hold(host) {
      if (hasLocks) running.add(host);
      return hasLocks;
    },
    check: async (host) => (!hasLocks ? 'unknown' : running.has(host) ? 'running' : 'gone'),
  };
  const ports = Object.fromEntries(
    Object.keys(definition.families).map((family) => {
      const asking = canAsk ? { findReceipt: server.findReceipt, readCurrent: server.readCurrent } : {};
      return [family, { prepareSuccessor: aimAtReceipt, ...asking, ...options.ports?.[family] }];
    }),
  );

  const world: TestWorld = {
    clock,
    server,
    store,
    reported,
    isOnline: true,
    credentials: { offer: async () => ({ type: 'headers', headers: {} }) },
    async start(given = store) {
      const life = createKillSwitch(clock);
      const engine = createEngine(
        {
          store: life.wrap(given),
          clock,
          timers: life.timers,
          // Jitter in the middle: a test that cares gives its own.
          ids: { uuid, random: () => 0.5 },
          locks,
          digest: { sha256: async (bytes) => sha256(bytes) },
          connection: { online: () => world.isOnline },
          ledger: options.ledger && ledgerSeenBy(options.ledger, life.living),
        },
        {
          credentials: { offer: (owner, refused) => world.credentials.offer(owner, refused) },
          report: (entry) => reported.push(entry),
          ...options,
          sender: life.sender(options.sender ?? server.sender),
          ports,
        },
      );
      await engine.locked;
      return {
        engine,
        kill() {
          life.kill();
          running.delete(engine.host);
        },
      };
    },
    run: (promise) => clock.until(promise),
    uuid,
  };
  return world;
}

/** A command for `owner` with an id of its own; override what the test is about. */
export function testCommand(world: Pick<TestWorld, 'uuid'>, over: Partial<CommandInput>): CommandInput {
  return { id: world.uuid(), owner: 'ann', family: 'workout', kind: 'create', body: { kg: 60 }, ...over };
}
