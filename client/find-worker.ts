/** Finds the worker to talk to: the registration's active one, whether or not it controls this page (W13). */
import { NoHostError } from '../shared/call-errors.ts';

interface WorkerLike {
  readonly state: string;
  addEventListener(type: 'statechange', listener: () => void, options: { readonly once: true }): void;
}

export interface RegistrationLike<Worker extends WorkerLike> {
  readonly active: Worker | null;
  readonly waiting: Worker | null;
  readonly installing: Worker | null;
}

/**
 * Waits for an installation as long as it takes; the caller has the deadline.
 * @throws NoHostError when the installation failed
 */
export async function activeWorker<Worker extends WorkerLike>(
  registration: RegistrationLike<Worker>,
): Promise<Worker> {
  for (;;) {
    const { active, waiting, installing } = registration;
    if (active) return active;
    const coming = installing ?? waiting;
    if (!coming) throw new NoHostError('The worker was not installed');
    await new Promise<void>((resolve) =>
      coming.addEventListener('statechange', () => resolve(), { once: true }),
    );
  }
}
