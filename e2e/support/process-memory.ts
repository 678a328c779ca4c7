/** How much memory a browser's processes take, as the kernel counts it. Linux alone tells; elsewhere there is nothing. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** MB by kind of process: `browser`, `renderer`, `network.mojom.NetworkService` and so on. Those of a kind are summed. */
export type MemoryByKind = ReadonlyMap<string, number>;

export interface ProcessMemory {
  /** Resident now. */
  now(): MemoryByKind;
  /** The most that was resident since `forgetPeak`, per process. */
  peak(): MemoryByKind;
  forgetPeak(): void;
}

export function processMemory(userDataDir: string): ProcessMemory {
  const processes = (): readonly { readonly pid: string; readonly kind: string }[] =>
    readdirSync('/proc').flatMap((pid) => {
      const command = read(`/proc/${pid}/cmdline`);
      if (!command.includes(`--user-data-dir=${userDataDir}`)) return [];
      const [, type = 'browser'] = /--type=([\w-]+)/.exec(command) ?? [];
      const [, utility = type] = /--utility-sub-type=(\w+)/.exec(command) ?? [];
      return [{ pid, kind: utility }];
    });
  const sum = (field: 'VmRSS' | 'VmHWM'): MemoryByKind => {
    const byKind = new Map<string, number>();
    for (const { pid, kind } of processes()) {
      const [, kb = '0'] = new RegExp(`${field}:\\s+(\\d+)`).exec(read(`/proc/${pid}/status`)) ?? [];
      byKind.set(kind, (byKind.get(kind) ?? 0) + Number(kb) / 1024);
    }
    return byKind;
  };
  return {
    now: () => sum('VmRSS'),
    peak: () => sum('VmHWM'),
    forgetPeak() {
      for (const { pid } of processes()) writeFileSync(`/proc/${pid}/clear_refs`, '5');
    },
  };
}

/** `''` for a process that has ended meanwhile, and where there is no such file. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
