/**
 * Lets commits that arrive while a transaction is open ride together in the next one (R40). Nobody waits for a
 * batch to fill: with no transaction open, a commit leaves at once.
 */
import type { Commit, CommitResult } from '../outbox/row-store.ts';

/** A commit with more payload than this travels alone, so that it delays nobody but itself. */
const LARGE_BODY_BYTES = 256 * 1024;
/** Bounds one transaction well below its time limit. */
const MOST_RIDERS = 256;

interface Call {
  readonly commits: readonly Commit[];
  readonly isLarge: boolean;
  resolve(results: readonly CommitResult[]): void;
  reject(error: unknown): void;
}

export type CommitCall = (commits: readonly Commit[]) => Promise<readonly CommitResult[]>;

/** `run` answers one result per commit, `failed` ones included, and never rejects. */
export function createGroupCommit(run: CommitCall): CommitCall {
  const waiting: Call[] = [];
  let isRunning = false;

  function takeRiders(): readonly Call[] {
    let count = 0;
    let end = 0;
    for (const call of waiting) {
      count += call.commits.length;
      if (end > 0 && (count > MOST_RIDERS || call.isLarge)) break;
      end++;
      if (call.isLarge) break;
    }
    return waiting.splice(0, end);
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    // What is handed over in the same turn rides along.
    await undefined;
    while (waiting.length > 0) {
      const calls = takeRiders();
      let from = 0;
      const results = await run(calls.flatMap(({ commits }) => commits));
      for (const { commits, resolve, reject } of calls) {
        const own = results.slice(from, from + commits.length);
        from += commits.length;
        const [first] = own;
        if (first?.type === 'failed' && own.every(({ type }) => type === 'failed')) reject(first.error);
        else resolve(own);
      }
    }
    isRunning = false;
  }

  return (commits) =>
    new Promise((resolve, reject) => {
      waiting.push({ commits, isLarge: commits.some(hasLargeBody), resolve, reject });
      if (!isRunning) void runAll();
    });
}

function hasLargeBody({ write, bodies = [] }: Commit): boolean {
  const bytes = write.reduce((sum, { bodySize = 0 }) => sum + bodySize, 0);
  return bodies.length > 0 && bytes > LARGE_BODY_BYTES;
}
