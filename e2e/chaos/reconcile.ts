/** Holds what pages were told against what the server has and what is left on the device (T30). Pure. */
import type { LedgerStatistics } from '../../examples/server/routes/test-routes.ts';
import type { Chaos, Command } from './play-chaos.ts';

/** Broken promises, the clause first. */
export function reconcile(
  { commands, ends, left }: Pick<Chaos, 'commands' | 'ends' | 'left'>,
  { effects, applied }: LedgerStatistics,
): readonly string[] {
  const broken: string[] = [];
  const counts = new Map(applied.map(({ id, count }) => [id, count]));
  const deleted = new Set(commands.filter(({ kind }) => kind === 'delete').map(({ about }) => about));
  for (const [id, count] of counts) if (count !== 1) broken.push(`T30.2: ${id} was applied ${count} times`);
  // A second effect of a command would carry an id that none of them ended under.
  const known = new Set([...ends.values()].map(({ id }) => id));
  for (const id of counts.keys())
    if (!known.has(id)) broken.push(`T30.2: ${id} was applied, and no command ended so`);
  for (const { id, state } of left) if (state !== 'blocked') broken.push(`T30.5: ${id} is left ${state}`);
  for (const command of commands) {
    const wrong = command.state === 'told' ? wrongEnd(command) : undefined;
    if (wrong) broken.push(`T30.1: ${command.kind} ${command.n} (${command.id}) ${wrong}`);
  }
  return [...broken, ...outOfOrder()];

  function wrongEnd({ id, about }: Command): string | undefined {
    const end = ends.get(id);
    switch (end?.type) {
      case 'uploaded':
        return end.receipt.id === end.id && counts.has(end.id)
          ? undefined
          : 'is uploaded, and the server does not have it';
      case 'blocked':
      case 'unknown':
        return left.some((row) => row.id === end.id) ? undefined : `is ${end.type}, and its row is gone`;
      case 'already_gone':
      case 'dropped':
        return deleted.has(about) ? undefined : `ended ${end.type}, and nobody deleted it`;
      default:
        return `ended ${end?.type ?? 'never'}`;
    }
  }

  /** T30.3: of one resource, what was told before another was asked is applied before it. */
  function outOfOrder(): readonly string[] {
    const latest = new Map<string, Command>();
    for (const command of commands) {
      const end = ends.get(command.id);
      const other = end && latest.get(end.id);
      if (end && (!other || other.n < command.n)) latest.set(end.id, command);
    }
    const applied = new Map<string, Command>();
    return effects.flatMap(({ id }) => {
      const command = latest.get(id);
      if (!command) return [];
      const other = applied.get(command.about);
      if (!other || other.n < command.n) applied.set(command.about, command);
      const isLate = other !== undefined && command.toldAt !== undefined && other.n > command.toldAt;
      return isLate ? [`T30.3: ${command.kind} ${command.n} was applied after ${other.kind} ${other.n}`] : [];
    });
  }
}
