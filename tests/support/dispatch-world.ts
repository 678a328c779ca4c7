/** A world with one host, owner `ann` signed in, and the families that dispatch tests use. */
import type { CommandInput } from '../../shared/command.ts';
import { defineOutbox, document, record } from '../../shared/family.ts';
import type { FlushResult } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import type { Engine } from '../../sw/engine.ts';
import {
  createTestWorld,
  type TestHost,
  type TestWorld,
  type TestWorldOptions,
} from '../../sw/testing/create-test-world.ts';

export const definition = defineOutbox({ workout: record(), note: record(), plan: document() });

export interface DispatchWorld extends TestWorld {
  host: TestHost;
  /** The host that commands go to. */
  engine: Engine;
  /** Kills the host and starts another over the same store. */
  restart(): Promise<Engine>;
  /** Stores a put of plan `target`; answers the row. */
  put(target: string, over?: Partial<CommandInput>): Promise<Row>;
  /** Stores any command; answers the row that stands for it. */
  enqueue(over: Partial<CommandInput>): Promise<Row>;
  /** Flushes as `flush()` does and moves the clock until it has ended. */
  flush(owner?: string): Promise<FlushResult>;
  /** All of an owner's rows, by seq. */
  rows(owner?: string): Promise<readonly Row[]>;
  row(id: string): Promise<Row>;
  /** Ids the server was sent, in order. */
  sent(): readonly string[];
}

export async function dispatchWorld(options: Partial<TestWorldOptions> = {}): Promise<DispatchWorld> {
  const world = createTestWorld({ definition, ...options });
  const host = await world.start();
  await host.engine.signIn('ann');
  const enqueue: DispatchWorld['enqueue'] = async (over) => {
    const { row } = await made.engine.enqueue({
      id: world.uuid(),
      owner: 'ann',
      family: 'plan',
      kind: 'put',
      body: { at: world.clock.now() },
      ...over,
    });
    if (!row) throw new Error('The command left no row');
    return row;
  };
  const made: DispatchWorld = Object.assign(world, {
    host,
    engine: host.engine,
    async restart() {
      made.host.kill();
      made.host = await world.start();
      made.engine = made.host.engine;
      return made.engine;
    },
    enqueue,
    put: (target: string, over: Partial<CommandInput> = {}) =>
      enqueue({ target: { type: 'id', id: target }, ...over }),
    flush: (owner = 'ann') => world.run(made.engine.flush(owner, 'flush')),
    rows: (owner = 'ann') => world.store.index(owner, { limit: 20_000 }),
    async row(id: string) {
      const [found] = await world.store.findRows([id]);
      if (!found) throw new Error(`There is no row ${id}`);
      return found;
    },
    sent: () => world.server.requests.map(({ id }) => id),
  });
  return made;
}
