/**
 * The ports of `environment.ts` as a browser gives them, in a Service Worker as in a page. Nothing here is
 * started or held before it is asked for.
 */
import { hostLockName } from '../shared/protocol.ts';
import type { Clock, Digest, Environment, HostLocks, Ids, Timers } from './environment.ts';
import { sha256 } from './sha256.ts';

/** How long a lock may take to answer before the lease decides instead (C6), in ms. */
const LOCK_LIMIT_MS = 500;
/** Timers take a signed 32-bit number of ms; what is longer would go off at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The part of the Web Locks API that hosts use. */
export type LockPower = Pick<LockManager, 'request'>;

export function createBrowserEnvironment(): Environment {
  const timers = createTimers();
  return {
    clock: { now: () => Date.now() } satisfies Clock,
    timers,
    ids: { uuid: () => crypto.randomUUID(), random: () => Math.random() } satisfies Ids,
    locks: createHostLocks(findLocks(), timers),
    digest: { sha256: digest } satisfies Digest,
  };
}

export function createTimers(): Timers {
  return {
    after(ms, callback) {
      const timer = setTimeout(callback, Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
      return () => clearTimeout(timer);
    },
  };
}

/**
 * C6: a host holds the lock of its id for as long as its realm runs; the browser frees it when the realm ends,
 * however it ends. `locks` is `undefined` where the API is missing.
 */
export function createHostLocks(locks: LockPower | undefined, timers: Timers): HostLocks {
  return {
    hold(host) {
      if (!locks) return Promise.resolve(false);
      return new Promise((resolve) => {
        const forget = timers.after(LOCK_LIMIT_MS, () => resolve(false));
        const held = () => {
          forget();
          resolve(true);
          // Never settles: only the end of the realm gives the lock back.
          return new Promise<never>(() => {});
        };
        request(locks, host, {}, held).catch(() => {
          forget();
          resolve(false);
        });
      });
    },
    check(host) {
      if (!locks) return Promise.resolve('unknown');
      return new Promise((resolve) => {
        const forget = timers.after(LOCK_LIMIT_MS, () => resolve('unknown'));
        // Shared, so that two hosts that check at once do not take each other for the one they ask about; and
        // given back at once, because the callback's promise is settled when it returns.
        const options = { mode: 'shared', ifAvailable: true } as const;
        request(locks, host, options, async (lock) => {
          forget();
          resolve(lock === null ? 'running' : 'gone');
        }).catch(() => {
          forget();
          resolve('unknown');
        });
      });
    },
  };
}

/** Where the API refuses by throwing, it refuses by rejecting too. */
async function request(
  locks: LockPower,
  host: string,
  options: LockOptions,
  callback: (lock: Lock | null) => Promise<void>,
): Promise<void> {
  await locks.request(hostLockName(host), options, callback);
}

/** Absent outside secure contexts and in older WebViews; reading it throws in some opaque origins. */
function findLocks(): LockPower | undefined {
  try {
    return 'locks' in navigator ? navigator.locks : undefined;
  } catch {
    return undefined;
  }
}

/** In bytes: up to here the way to the platform's own digest and back takes longer than doing it here. */
const SMALL = 4_096;

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (bytes.length <= SMALL) return sha256(bytes);
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  let hex = '';
  for (const byte of hash) hex += byte.toString(16).padStart(2, '0');
  return hex;
}
