/** The engine for an app's definition and ports, with what an app need not say (W1). The same in worker and page. */
import type { Families, OutboxDefinition } from '../shared/family.ts';
import { createBrowserEnvironment } from './browser-environment.ts';
import type { FamilyPorts, PrepareSuccessor } from './dispatch/family-ports.ts';
import type { SenderFor } from './dispatch/sender.ts';
import type { Engine } from './engine.ts';
import type { Environment } from './environment.ts';
import { type OpenEngineOptions, openEngine } from './open-engine.ts';

/** What sending needs; the same wherever the engine runs. */
export interface OutboxSetup<F extends Families = Families>
  extends Omit<OpenEngineOptions, 'definition' | 'sender' | 'ports'> {
  readonly sender: SenderFor<F>;
  /** What families add on the sending side: preparing, resolving, reading, asking. */
  readonly families?: { readonly [Name in keyof F]?: FamilyPorts } | undefined;
}

export interface StartedEngine {
  readonly engine: Engine;
  readonly environment: Environment;
}

/** What most servers need of a change to something just created: its id and the revision it was given (C21). */
const aimAtReceipt: PrepareSuccessor = ({ receipt }) => ({
  target: receipt.target,
  expectedRevision: receipt.revision,
});

/** @throws InvalidOptionError */
export function startEngine<F extends Families>(
  definition: OutboxDefinition<F>,
  { families, ...setup }: OutboxSetup<F>,
): StartedEngine {
  const environment = createBrowserEnvironment();
  const ports: Record<string, FamilyPorts> = {};
  for (const family of new Set([...Object.keys(definition.families), ...Object.keys(families ?? {})])) {
    ports[family] = { prepareSuccessor: aimAtReceipt, ...families?.[family] };
  }
  return { engine: openEngine({ ...setup, definition, ports }, environment), environment };
}
