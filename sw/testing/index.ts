/** The surface of `holdfast/testing`: the engine over memory, for an app's own tests (W52). */
export { createTestEngine, type TestEngine } from './create-test-engine.ts';
export {
  createTestWorld,
  type TestHost,
  type TestWorld,
  type TestWorldOptions,
  testCommand,
} from './create-test-world.ts';
export { createManualClock, type ManualClock } from './manual-clock.ts';
export { createMemoryLedger, type MemoryLedger } from './memory-ledger.ts';
export type { RequestMatch, ScriptedFault } from './scripted-fault.ts';
export {
  type AppliedChange,
  createScriptedServer,
  type ScriptedResource,
  type ScriptedServer,
  type ServedRequest,
} from './scripted-server.ts';
export {
  explainSeed,
  FAULT_GROUPS,
  type FaultGroup,
  type Played,
  type SimulationOptions,
  type Subject,
  simulate,
} from './simulate.ts';
export { testEncryption } from './test-encryption.ts';
