/** Where a drain's time goes in the worker: a sampling profile, its hottest functions and the whole of it in a file. */
import { writeFile } from 'node:fs/promises';
import type { BenchWorld } from './bench-world.ts';
import { fill } from './measure-drains.ts';

export interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export async function profileDrain(world: BenchWorld, rows: number, file: string): Promise<void> {
  const outbox = await world.openOutbox('profile');
  await fill(outbox, 200);
  await outbox.call('drain');
  await fill(outbox, rows);
  const session = await outbox.attach();
  await session.send('Profiler.enable');
  await session.send('Profiler.setSamplingInterval', { interval: 200 });
  await session.send('Profiler.start');
  const ms = await outbox.call('drain');
  const { profile } = (await session.send('Profiler.stop')) as { readonly profile: Profile };
  await session.detach();
  await writeFile(file, JSON.stringify(profile));
  console.log(`Drained ${rows} rows in ${ms.toFixed(0)} ms; the profile is in ${file}`);
  printHottest(profile);
}

export function printHottest({ nodes, samples, timeDeltas }: Profile): void {
  const names = new Map(
    nodes.map(({ id, callFrame }) => [
      id,
      `${callFrame.functionName || '(anonymous)'}:${callFrame.lineNumber}`,
    ]),
  );
  const self = new Map<string, number>();
  samples.forEach((id, i) => {
    const name = names.get(id) ?? '?';
    self.set(name, (self.get(name) ?? 0) + (timeDeltas[i] ?? 0) / 1_000);
  });
  for (const [name, ms] of [...self].sort((a, b) => b[1] - a[1]).slice(0, 40))
    console.log(`${ms.toFixed(1).padStart(8)} ms  ${name}`);
}
