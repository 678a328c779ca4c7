/**
 * What lies between hosts and the server (T31): requests that arrive late, twice or never, answers that are lost,
 * look-ups that nobody answers. A request that is on its way goes on whether or not its sender still lives.
 */
import type { Answer, FindReceipt, ReadCurrent, Sender, SendRequest } from '../../dispatch/sender.ts';
import { networkFailure, problemAnswer, type ScriptedFault } from '../scripted-fault.ts';
import type { AppliedChange, ScriptedServer } from '../scripted-server.ts';
import type { Loop } from './loop.ts';

/** What befalls one message, instead of arriving as it should. */
export type Mishap = 'lose_request' | 'lose_answer' | 'repeat_request';

export interface Network {
  /** Whose cookie the browser sends; another owner's request is refused (V5). */
  account: string | undefined;
  reachable: boolean;
  /** What the server does to the next requests, one each. */
  readonly faults: ScriptedFault[];
  readonly mishaps: Mishap[];
  /** How many look-ups get no answer. */
  deafLookups: number;
  /** Ids of requests that may still arrive. */
  readonly underWay: ReadonlyMap<string, number>;
  /** Tells what the server has applied since it was asked last. */
  notice(): void;
  sender(who: string): Sender;
  findReceipt(who: string): FindReceipt;
  readCurrent(who: string): ReadCurrent;
  /** A request of a sender that is no engine. */
  send(who: string, request: SendRequest, signal: AbortSignal): Promise<Answer>;
}

export interface NetworkDeps {
  readonly loop: Loop;
  readonly server: ScriptedServer;
  /** How long after it was sent a request may still arrive, in ms. */
  readonly lingerMs: (request: SendRequest) => number;
  readonly onSent: (who: string, request: SendRequest) => void;
  readonly onApplied: (change: AppliedChange) => void;
  /** A delete found nothing to delete. */
  readonly onGone: (id: string) => void;
}

export function createNetwork({ loop, server, lingerMs, onSent, onApplied, onGone }: NetworkDeps): Network {
  const underWay = new Map<string, number>();
  let seen = server.applied.length;

  const notice = (): void => {
    for (const change of server.applied.slice(seen)) onApplied(change);
    seen = server.applied.length;
  };
  const onTheWay = (id: string, change: 1 | -1): void => {
    const count = (underWay.get(id) ?? 0) + change;
    if (count > 0) underWay.set(id, count);
    else underWay.delete(id);
  };
  /** The server's part: it never hears that somebody stopped listening. */
  const serve = async (request: SendRequest): Promise<Answer> => {
    if (network.account !== request.owner) return problemAnswer(401, 'owner_mismatch');
    const fault = network.faults.shift();
    if (fault) server.next(fault, ({ id }) => id === request.id);
    const answered = server.sender.send(request, new AbortController().signal);
    notice();
    const answer = await answered;
    const isDelete = request.kind === 'delete' || request.kind === 'remove';
    if (isDelete && answer.type === 'response' && answer.status === 404) onGone(request.id);
    return answer;
  };

  const send = (who: string, request: SendRequest, signal: AbortSignal): Promise<Answer> =>
    new Promise((resolve) => {
      onSent(who, request);
      const { id } = request;
      const name = `${request.kind} ${id.slice(-4)}`;
      const lostAt = loop.passed + lingerMs(request);
      if (signal.aborted) return resolve(networkFailure(true));
      signal.addEventListener('abort', () => resolve(networkFailure(true)));
      if (!network.reachable) return resolve(networkFailure());
      const mishap = network.mishaps.shift();
      const hear = (answer: Answer): void =>
        loop.add({
          who,
          name: () => `${who} hears of ${name}: ${wordOf(answer)}`,
          run: () => resolve(answer),
        });
      const arrive = (again: boolean): void => {
        onTheWay(id, 1);
        loop.add({
          who: '',
          name: () => `${name} of ${who} arrives${again ? ' once more' : ''}`,
          run() {
            onTheWay(id, -1);
            // Nobody's request is under way for ever: what a lease has passed over has been lost (C5, R34).
            if (loop.passed >= lostAt) return;
            void serve(request).then((answer) => {
              if (again) return;
              if (mishap === 'lose_answer') hear(networkFailure());
              else hear(answer);
              const hasApplied = answer.type === 'response' && answer.ok;
              if (mishap === 'repeat_request' && hasApplied) arrive(true);
            });
          },
        });
      };
      if (mishap === 'lose_request') hear(networkFailure());
      else arrive(false);
    });

  const network: Network = {
    account: undefined,
    reachable: true,
    faults: [],
    mishaps: [],
    deafLookups: 0,
    underWay,
    notice,
    sender: (who) => ({ send: (request, signal) => send(who, request, signal) }),
    findReceipt: (who) => (request, signal) =>
      new Promise((resolve) => {
        loop.add({
          who,
          name: () => `${who} asks for the receipt of ${request.id.slice(-4)}`,
          run() {
            const isDeaf = network.deafLookups > 0;
            if (isDeaf) network.deafLookups--;
            if (isDeaf || !network.reachable) resolve({ type: 'no_answer', answer: networkFailure() });
            else void server.findReceipt(request, signal).then(resolve);
          },
        });
      }),
    readCurrent: (who) => (request, signal) =>
      new Promise((resolve, reject) => {
        loop.add({
          who,
          name: () => `${who} reads ${request.target}`,
          run() {
            if (network.reachable) server.readCurrent(request, signal).then(resolve, reject);
            else reject(new TypeError('Failed to fetch'));
          },
        });
      }),
    send,
  };
  return network;
}

function wordOf(answer: Answer): string {
  if (answer.type === 'failure') return answer.timedOut ? 'timeout' : 'no connection';
  return `${answer.status}`;
}
