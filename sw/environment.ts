/** Ports to what a realm gives: time, ids, timers, locks. Planners take `now: number` and never see these. */

export interface Clock {
  /** Epoch ms. May jump in either direction (C4). */
  now(): number;
}

export interface Timers {
  /** Calls back once after `ms`; the returned function cancels. */
  after(ms: number, callback: () => void): () => void;
}

export interface Ids {
  /** A fresh random UUID. */
  uuid(): string;
  /** A number in [0, 1), for jitter. */
  random(): number;
}

/** Locks that die with their holder (C6). */
export interface HostLocks {
  /** Takes the lock named after `host` for as long as this realm runs. Resolves once it is held, or `false` where locks are missing. */
  hold(host: string): Promise<boolean>;
  /** Whether that host still runs. `unknown` where locks are missing or do not answer: then the lease decides. */
  check(host: string): Promise<'gone' | 'running' | 'unknown'>;
}

export interface Digest {
  /** SHA-256 as lower-case hex. */
  sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string>;
  /** What a row shows of its body's digest where bodies are encrypted (W63): a short body must not be guessed by it. */
  ofBody?(owner: string, sha256: string): Promise<string>;
}

/** What the realm says about the network. A hint: `true` proves nothing, `false` is believed (W22). */
export interface Connection {
  online(): boolean;
}

export interface Environment {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly locks: HostLocks;
  readonly digest: Digest;
}
