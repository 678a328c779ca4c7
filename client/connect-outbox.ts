/**
 * Finds or registers the worker, or runs the engine in the page where there is none, signs the owner in, and answers
 * the typed outbox (W13, W17, W40).
 */
import { NoHostError } from '../shared/call-errors.ts';
import type { Families, OutboxDefinition } from '../shared/family.ts';
import { type HandCredentials, type HostFacts, PROTOCOL, RELEASE } from '../shared/protocol.ts';
import { activeWorker, type RegistrationLike } from './find-worker.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import type { PageHostSetup } from './page-host.ts';
import type { PageRealm } from './page-realm.ts';
import { createWorkerLink, type HostLink } from './worker-link.ts';

export interface ConnectOptions<F extends Families = Families> {
  /** The worker's script, which is registered; a registration of your own; or `page` for the engine in the page. */
  readonly worker: string | URL | RegistrationLike;
  /** Options for registering a script. */
  readonly registration?: RegistrationOptions | undefined;
  /** Who is signed in. Without it the page shows whoever is. */
  readonly owner?: string | undefined;
  /** What `startOutbox` is given in the worker, for the engine in the page where workers cannot be had (W40). */
  readonly fallback?: (() => PageHostSetup<F> | Promise<PageHostSetup<F>>) | undefined;
  /** Headers for a worker that asks pages for them (W31). `refused`: the last ones were answered with 401. */
  readonly credentials?: HandCredentials | undefined;
  /** The outbox's name, where an origin has several. Default `holdfast`. */
  readonly name?: string | undefined;
  /** How long registering and installing a worker may take together, in ms (W13). Default 15,000. */
  readonly connectMs?: number | undefined;
  /** Given by tests. */
  readonly realm?: PageRealm | undefined;
}

/**
 * Where the device's storage cannot be read it answers all the same: what waits is shown as far as a witness knows it,
 * and commands refuse (S15).
 * @throws NoHostError when neither a worker nor the page can be the host
 */
export async function connectOutbox<const F extends Families>(
  definition: OutboxDefinition<F>,
  {
    worker,
    registration: registrationOptions,
    owner,
    fallback,
    credentials,
    name = 'holdfast',
    connectMs,
    realm = window,
  }: ConnectOptions<F>,
): Promise<Outbox<F>> {
  let facts: HostFacts | undefined;
  const connect = async (link: HostLink): Promise<Outbox<F>> => {
    const hello = { protocol: PROTOCOL, release: RELEASE };
    const greet = () => link.call((api) => api.hello(hello), { deadlineMs: connectMs });
    facts = await greet();
    return createOutbox(definition, { link, greet, facts, realm, name, credentials });
  };
  const register = async (): Promise<RegistrationLike> => {
    if (typeof worker === 'object' && 'active' in worker) return worker;
    const container = realm.navigator.serviceWorker;
    if (!container) throw new NoHostError('No service workers here');
    return await container.register(worker, registrationOptions);
  };
  const connectWorker = async (): Promise<Outbox<F>> => {
    let registration: RegistrationLike | undefined;
    return await connect(
      createWorkerLink({
        realm,
        async findWorker() {
          // The first time, and where it was unregistered meanwhile, by the app or by a person who cleared data. A
          // browser may never answer: the call's deadline is the registration's too.
          if (!registration?.active) registration = await register();
          return activeWorker(registration);
        },
      }),
    );
  };
  const connectPage = async (cause: unknown): Promise<Outbox<F>> => {
    if (!fallback) {
      let message = `No worker, and no fallback: ${cause}`;
      if (/ evalu|import/.test(message)) message += "; a module? registration: { type: 'module' }";
      throw new NoHostError(message, {}, { cause });
    }
    const { createPageHost } = await import('./page-host.ts');
    return await connect(createPageHost(definition, name, await fallback()));
  };

  const outbox = await (worker === 'page' ? connectPage(worker) : connectWorker().catch(connectPage));
  if (owner !== undefined)
    await outbox.signIn(owner).catch((error: unknown) => {
      // Who is active already is signed in, whatever stopped answering since the first call: the next one tries again.
      if (facts?.epoch && facts.activeOwner !== owner) throw error;
    });
  return outbox;
}
