/** What dispatching is set to: an app's options, checked and completed (`engine-options.ts`). */
import type { Family } from '../../shared/family.ts';
import type { LeaseOf } from '../outbox/lease.ts';
import type { Credentials } from './credentials.ts';
import type { FamilyPorts } from './family-ports.ts';
import type { Report } from './report.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { Sender } from './sender.ts';

export interface DispatchSettings {
  readonly sender: Sender;
  readonly credentials: Credentials;
  readonly report: Report;
  /** All that this release defines. */
  readonly familyNames: readonly string[];
  /** `undefined` for a family that this release does not define (R3). */
  readonly familyOf: (family: string) => Family | undefined;
  readonly portsOf: (family: string) => FamilyPorts;
  readonly release: string;
  /** C1: its family's, and more for a large body. */
  readonly leaseMs: LeaseOf;
  readonly shortestLeaseMs: number;
  readonly longestLeaseMs: number;
  /** Longest attempt, in ms; what is left of a lease cuts it further (C5, C7). */
  readonly attemptTimeoutMs: number;
  readonly concurrency: number;
  /** Time limit for the app's own functions, in ms (D4). */
  readonly appLimitMs: number;
  readonly retry: RetryPolicy;
}
