/** Web Locks of one browser, in memory: exclusive and shared requests in order of arrival, with abort signals. */
export interface FakeLocks extends Pick<LockManager, 'request' | 'query'> {
  /** Frees whatever this holder has, as the end of its realm does. */
  readonly requestCount: number;
  /** Requests that have not been granted or aborted. */
  readonly waitingCount: number;
  /** Takes a lock for a realm; the returned function is that realm's end. */
  hold(name: string): () => void;
}

interface Request {
  readonly name: string;
  readonly mode: LockMode;
  grant(): void;
}

export function createFakeLocks(): FakeLocks {
  const held = new Map<Request, string>();
  let waiting: Request[] = [];
  let requestCount = 0;

  const isFree = (request: Request): boolean =>
    [...held].every(
      ([one, name]) => name !== request.name || (one.mode === 'shared' && request.mode === 'shared'),
    );

  const pump = (): void => {
    for (const request of [...waiting]) {
      const isFirst =
        waiting.find(({ name }) => name === request.name) === request || request.mode === 'shared';
      if (!isFirst || !isFree(request)) continue;
      waiting = waiting.filter((one) => one !== request);
      held.set(request, request.name);
      request.grant();
    }
  };

  function request<T>(
    name: string,
    optionsOrCallback: LockOptions | LockGrantedCallback<T>,
    given?: LockGrantedCallback<T>,
  ): Promise<Awaited<T>> {
    const options = typeof optionsOrCallback === 'function' ? {} : optionsOrCallback;
    const callback = typeof optionsOrCallback === 'function' ? optionsOrCallback : given;
    requestCount++;
    return new Promise((resolve, reject) => {
      const one: Request = {
        name,
        mode: options.mode ?? 'exclusive',
        grant() {
          const end = (): void => {
            held.delete(one);
            pump();
          };
          Promise.resolve(callback?.({ name, mode: one.mode }))
            .then(resolve as (value: unknown) => void, reject)
            .finally(end);
        },
      };
      options.signal?.addEventListener('abort', () => {
        if (!waiting.includes(one)) return;
        waiting = waiting.filter((other) => other !== one);
        reject(options.signal?.reason);
        pump();
      });
      waiting.push(one);
      queueMicrotask(pump);
    });
  }

  return {
    request,
    query: async () => ({ held: [...held].map(([{ mode }, name]) => ({ name, mode })), pending: [] }),
    hold(name) {
      const one: Request = { name, mode: 'exclusive', grant() {} };
      held.set(one, name);
      return () => {
        held.delete(one);
        pump();
      };
    },
    get requestCount() {
      return requestCount;
    },
    get waitingCount() {
      return waiting.length;
    },
  };
}
