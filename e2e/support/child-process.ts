/** A process of a suite's own, with all that it starts: ended by the id of its group, and never left behind. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Child {
  readonly process: ChildProcess;
  /** Resolves when it has ended, by SIGKILL unless it had before. */
  kill(): Promise<void>;
}

export function startChild(command: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const child = spawn(command, [...args], { stdio: 'ignore', ...options, detached: true });
  // Also where the suite's own process ends before its time.
  const end = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Nobody of the group is left.
    }
  };
  process.once('exit', end);
  const ended = once(child, 'exit').catch(() => undefined);
  return {
    process: child,
    async kill() {
      end();
      await ended;
      process.off('exit', end);
    },
  };
}
