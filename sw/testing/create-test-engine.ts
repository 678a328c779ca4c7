/** One host of a test world with somebody signed in: what most tests of an app want (W52). */
import type { Engine } from '../engine.ts';
import {
  createTestWorld,
  type TestHost,
  type TestWorld,
  type TestWorldOptions,
} from './create-test-world.ts';

export interface TestEngine {
  readonly engine: Engine;
  readonly world: TestWorld;
  readonly host: TestHost;
}

export async function createTestEngine(
  options: TestWorldOptions & {
    /** Who is signed in. Default `ann`. */
    readonly owner?: string | undefined;
  },
): Promise<TestEngine> {
  const { owner = 'ann', ...rest } = options;
  const world = createTestWorld(rest);
  const host = await world.start();
  await host.engine.signIn(owner);
  return { engine: host.engine, world, host };
}
