/** Finds the worker to talk to: the registration's active one, whether or not it controls this page (W13). */
import { NoHostError } from '../shared/call-errors.ts';
import type { WorkerRef } from './worker-endpoint.ts';

/** What is used of a `ServiceWorker`. */
export interface WorkerLike extends WorkerRef {
  addEventListener(type: 'statechange', listener: () => void, options: { readonly once: true }): void;
}

/** What is used of a `ServiceWorkerRegistration`. */
export interface RegistrationLike {
  readonly active: WorkerLike | null;
  readonly waiting: WorkerLike | null;
  readonly installing: WorkerLike | null;
}

/**
 * Waits for an installation as long as it takes; the caller has the deadline.
 * @throws NoHostError when the installation failed
 */
export async function activeWorker(registration: RegistrationLike): Promise<WorkerRef> {
  for (;;) {
    const { active, waiting, installing } = registration;
    if (active) return active;
    const coming = installing ?? waiting;
    if (!coming) throw new NoHostError('No worker was installed');
    await new Promise<void>((resolve) =>
      coming.addEventListener('statechange', () => resolve(), { once: true }),
    );
  }
}
