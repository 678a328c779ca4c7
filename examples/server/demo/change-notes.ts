/** What every change of the demo notes beside itself, in its own transaction. */
import type { Sql } from '../database/database.ts';
import type { CommandInput, CommandRoute } from '../routes/command-routes.ts';

/**
 * The number of this change for the account's derived data (statistics). Reading the number and the data in one
 * statement tells which changes the data has seen (D44). The row is locked last, so that it is held briefly.
 */
export async function nextGeneration(sql: Sql, owner: string): Promise<number> {
  const [row] = await sql.query<{ generation: number }>(
    `insert into demo_generations values ($1, 1)
     on conflict (owner) do update set generation = demo_generations.generation + 1 returning generation`,
    [owner],
  );
  return row?.generation ?? 0;
}

/** Notes that a command had an effect: what tests count, apart from the ledger. */
export type NoteEffect = (
  sql: Sql,
  route: Pick<CommandRoute, 'family' | 'kind'>,
  input: CommandInput,
  done: { readonly target: string; readonly revision: number },
) => Promise<void>;

export const noteEffect: NoteEffect = async (sql, { family, kind }, { owner, id, requestHash }, done) => {
  await sql.query(
    `insert into demo_effects (owner, id, request_hash, family, kind, target, revision)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [owner, id, requestHash, family, kind, done.target, done.revision],
  );
};

export const noteNothing: NoteEffect = async () => undefined;
