/** The engine for an app's definition and ports, with what an app need not say (W1). The same in worker and page. */
import type { Families, OutboxDefinition } from '../shared/family.ts';
import { createBrowserEnvironment } from './browser-environment.ts';
import { aimAtReceipt } from './dispatch/aim-at-receipt.ts';
import type { FamilyPorts } from './dispatch/family-ports.ts';
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
