/** What an app may set, what it gets otherwise, and which settings make no sense. */
import { InvalidOptionError } from '../shared/errors.ts';
import type { OutboxDefinition } from '../shared/family.ts';
import { RELEASE } from '../shared/protocol.ts';
import type { BodyEncryption } from './body-encryption.ts';
import type { Credentials } from './dispatch/credentials.ts';
import { type FamilyPorts, portsOf } from './dispatch/family-ports.ts';
import type { Report } from './dispatch/report.ts';
import type { RetryPolicy } from './dispatch/retry-policy.ts';
import type { Sender } from './dispatch/sender.ts';
import type { DispatchSettings } from './dispatch/settings.ts';
import { MAX_BODY_BYTES } from './outbox/admit-body.ts';
import { leaseForBytes } from './outbox/lease.ts';

export interface EngineOptions {
  readonly definition: OutboxDefinition;
  readonly sender: Sender;
  /** Default: no headers are needed (cookies of the app's own origin travel by themselves). */
  readonly credentials?: Credentials | undefined;
  /** What families add on the sending side, by family. */
  readonly ports?: Readonly<Record<string, FamilyPorts>> | undefined;
  readonly report?: Report | undefined;
  /** Names this bundle in what it writes (C1). Default: Holdfast's own release. */
  readonly release?: string | undefined;
  /** How long a claim holds, in ms; a family may declare its own, and a large body adds to it. Default 10,000. */
  readonly leaseMs?: number | undefined;
  /** Longest attempt, in ms; never longer than the lease (C5). Default: the lease. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Requests open at once, of different keys. Default 6. */
  readonly concurrency?: number | undefined;
  /** Time limit for the app's own functions, in ms (D4). Default 8,000. */
  readonly appLimitMs?: number | undefined;
  /** Larger bodies have no second copy (S23), in bytes. Default 1,000,000. */
  readonly maxMirroredBytes?: number | undefined;
  /** Encrypts bodies on this device: `encryptBodies()` of `holdfast/encryption` (W63). Default: they are stored as they are. */
  readonly encryption?: BodyEncryption | undefined;
  /** Waits after failures, in ms. Default: first 2,000, longest 300,000, believed 3,600,000. */
  readonly retry?: Partial<RetryPolicy> | undefined;
}

export interface Settings extends DispatchSettings {
  readonly maxMirroredBytes: number;
  readonly definition: OutboxDefinition;
}

const NO_CREDENTIALS: Credentials = { offer: async () => ({ type: 'headers', headers: {} }) };

function checkNumber(name: string, value: number, least: number): void {
  if (!Number.isFinite(value) || value < least)
    throw new InvalidOptionError(`${name} must be a number of at least ${least}, not ${String(value)}`, {
      option: name,
      value,
    });
}

/** @throws InvalidOptionError naming the option. */
export function readOptions(options: EngineOptions): Settings {
  const { definition, leaseMs = 10_000, concurrency = 6, appLimitMs = 8_000 } = options;
  const { maxMirroredBytes = 1_000_000 } = options;
  const { attemptTimeoutMs = Number.POSITIVE_INFINITY } = options;
  const retry = { firstMs: 2_000, longestMs: 300_000, believedMs: 3_600_000, ...options.retry };
  if (typeof options.sender?.send !== 'function')
    throw new InvalidOptionError('sender must have a send function', { option: 'sender' });
  const families = new Map(Object.entries(definition?.families ?? {}));
  if (families.size === 0)
    throw new InvalidOptionError('definition must declare at least one family', { option: 'definition' });
  checkNumber('leaseMs', leaseMs, 1_000);
  checkNumber('concurrency', concurrency, 1);
  checkNumber('appLimitMs', appLimitMs, 1);
  if (attemptTimeoutMs !== Number.POSITIVE_INFINITY) checkNumber('attemptTimeoutMs', attemptTimeoutMs, 1);
  checkNumber('retry.firstMs', retry.firstMs, 1);
  checkNumber('retry.longestMs', retry.longestMs, retry.firstMs);
  checkNumber('retry.believedMs', retry.believedMs, retry.longestMs);
  checkNumber('maxMirroredBytes', maxMirroredBytes, 0);
  const leases: number[] = [];
  let longestLeaseMs = leaseMs;
  for (const [name, family] of families) {
    const { leaseMs: own = leaseMs, maxBodyBytes = MAX_BODY_BYTES } = family;
    checkNumber(`${name}.leaseMs`, own, 1_000);
    leases.push(own);
    longestLeaseMs = Math.max(longestLeaseMs, own + leaseForBytes(maxBodyBytes));
  }
  for (const name of Object.keys(options.ports ?? {}))
    if (!families.has(name))
      throw new InvalidOptionError(`ports name a family that the definition lacks: ${name}`, {
        option: 'ports',
      });
  const ports = new Map(
    [...families].map(([name, family]) => [name, portsOf(name, family, options.ports ?? {}, options.sender)]),
  );
  return {
    definition,
    sender: options.sender,
    credentials: options.credentials ?? NO_CREDENTIALS,
    familyNames: [...families.keys()],
    familyOf: (name) => families.get(name),
    portsOf: (name) => ports.get(name) ?? {},
    report: options.report ?? (() => undefined),
    release: options.release ?? RELEASE,
    leaseMs: ({ family, bodySize = 0 }) =>
      (families.get(family)?.leaseMs ?? leaseMs) + leaseForBytes(bodySize),
    shortestLeaseMs: Math.min(leaseMs, ...leases),
    longestLeaseMs,
    attemptTimeoutMs,
    concurrency: Math.floor(concurrency),
    appLimitMs,
    retry,
    maxMirroredBytes,
  };
}
