/**
 * A server in memory behind the sender port: resources with revisions, a ledger of receipts (V1-V3), and faults
 * that a test scripts. It sees requests only, so what it counts is what a real server would have seen.
 */
import { toKeyArray } from '../../shared/key.ts';
import type { Receipt } from '../../shared/receipt.ts';
import type { Answer, FindReceipt, ReadCurrent, Sender, SendRequest } from '../dispatch/sender.ts';
import type { Clock, Timers } from '../environment.ts';
import {
  jsonAnswer,
  networkFailure,
  problemAnswer,
  type RequestMatch,
  type ScriptedFault,
  textAnswer,
} from './scripted-fault.ts';

export interface ServedRequest extends SendRequest {
  /** When it arrived. */
  readonly at: number;
  /** When its answer was complete or it was cut; absent while it is open. */
  readonly endedAt?: number | undefined;
}

/** A change the server made, in the order in which it made them. */
export interface AppliedChange {
  readonly id: string;
  readonly owner: string;
  readonly family: string;
  readonly kind: SendRequest['kind'];
  readonly target: string;
  readonly body: unknown;
  readonly revision: number;
}

export interface ScriptedResource {
  readonly owner: string;
  readonly target: string;
  readonly revision: number;
  readonly body: unknown;
  readonly deleted: boolean;
}

export interface ScriptedServer {
  readonly sender: Sender;
  readonly findReceipt: FindReceipt;
  readonly readCurrent: ReadCurrent;
  /** Every request that reached the server, in order. */
  readonly requests: readonly ServedRequest[];
  readonly applied: readonly AppliedChange[];
  /** Ids that `findReceipt` was asked for. */
  readonly lookups: readonly string[];
  /** Requests open now, and the most that ever were. */
  readonly open: number;
  readonly mostOpen: number;
  /** The most requests of one key that were ever open at once. */
  readonly mostOpenOfKey: number;
  /** While false every request fails at once and reaches nobody. */
  reachable: boolean;
  /** Time from arrival to answer, in ms. */
  latencyMs: number;
  /** Headers without which a request is answered 401. */
  requireHeaders: Readonly<Record<string, string>>;
  /** The next requests that match meet these faults, one each, in order. */
  next(faults: ScriptedFault | readonly ScriptedFault[], match?: RequestMatch): void;
  /** Every request that matches meets this fault, until the returned function is called. */
  always(fault: ScriptedFault, match?: RequestMatch): () => void;
  resource(owner: string, family: string, target: string): ScriptedResource | undefined;
  /** Somebody else's change: sets the body and raises the revision; `undefined` deletes. */
  change(owner: string, family: string, target: string, body: unknown): number;
  receipt(id: string): Receipt | undefined;
  /** Requests of this id so far. */
  requestsOf(id: string): readonly ServedRequest[];
}

interface LedgerEntry {
  readonly owner: string;
  readonly requestHash: string;
  readonly sourceRef: string | undefined;
  readonly receipt: Receipt;
}

export function createScriptedServer(deps: {
  readonly clock: Clock;
  readonly timers: Timers;
}): ScriptedServer {
  const resources = new Map<string, ScriptedResource>();
  const ledger = new Map<string, LedgerEntry>();
  /** Keys refused for good are remembered too: a late copy must not meet a resource that has come since (V2). */
  const refused = new Map<string, Answer>();
  const working = new Map<string, string>();
  const openOfKey = new Map<string, number>();
  const requests: (SendRequest & { at: number; endedAt?: number | undefined })[] = [];
  const applied: AppliedChange[] = [];
  const lookups: string[] = [];
  let queue: { readonly fault: ScriptedFault; readonly match: RequestMatch }[] = [];
  const standing = new Set<{ readonly fault: ScriptedFault; readonly match: RequestMatch }>();
  let open = 0;
  let mostOpen = 0;
  let mostOpenOfKey = 0;
  let created = 0;
  let generation = 0;

  const place = (owner: string, family: string, target: string) => JSON.stringify([owner, family, target]);
  const entryName = (owner: string, id: string) => JSON.stringify([owner, id]);

  const takeFault = (request: SendRequest): ScriptedFault | undefined => {
    const found = queue.find(({ match }) => match(request));
    if (found) {
      queue = queue.filter((entry) => entry !== found);
      return found.fault;
    }
    for (const { fault, match } of standing) if (match(request)) return fault;
    return undefined;
  };

  /** The ledger's word, the conflict or refusal, or the change and its receipt: one transaction of the server. */
  const apply = (request: SendRequest): Answer => {
    const known = ledger.get(entryName(request.owner, request.id));
    if (known) {
      if (known.requestHash !== request.requestHash) return problemAnswer(422, 'idempotency_key_reused');
      return jsonAnswer(200, { receipt: { ...known.receipt, replayed: true } });
    }
    const isCreate = request.kind === 'create';
    const target = request.target.type === 'id' ? request.target.id : `srv-${++created}`;
    const where = place(request.owner, request.family, target);
    const current = resources.get(where);
    const removes = request.kind === 'delete' || request.kind === 'remove';
    const refusal = refused.get(entryName(request.owner, request.id));
    if (refusal) return refusal;
    if (!isCreate && request.kind !== 'put' && (!current || current.deleted)) {
      const notFound = problemAnswer(404, 'not_found');
      refused.set(entryName(request.owner, request.id), notFound);
      return notFound;
    }
    if (current && request.expectedRevision !== undefined && current.revision !== request.expectedRevision)
      return problemAnswer(412, 'revision_conflict', { json: { actual_revision: current.revision } });
    const revision = (current?.revision ?? 0) + 1;
    resources.set(where, {
      owner: request.owner,
      target,
      revision,
      body: structuredClone(request.body),
      deleted: removes,
    });
    const { id, owner, family, kind, body } = request;
    applied.push({ id, owner, family, kind, target, body: structuredClone(body), revision });
    const receipt: Receipt = {
      id,
      requestHash: request.requestHash,
      kind: request.wireKind,
      target,
      revision,
      generation: ++generation,
      committedAt: deps.clock.now(),
    };
    ledger.set(entryName(owner, id), {
      owner,
      requestHash: request.requestHash,
      sourceRef: request.sourceRef,
      receipt,
    });
    return jsonAnswer(isCreate ? 201 : 200, { receipt }, { etag: `"${revision}"` });
  };

  /** Resolves after `ms`, or at once when the request is cut. */
  const pause = (ms: number, signal: AbortSignal): Promise<void> => {
    if (ms <= 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = deps.timers.after(ms, resolve);
      signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  };

  const answer = async (request: SendRequest, signal: AbortSignal): Promise<Answer> => {
    const name = entryName(request.owner, request.id);
    const fault = takeFault(request);
    if (fault?.type === 'reset') return networkFailure();
    const missing = Object.entries(server.requireHeaders).some(
      ([header, value]) => request.headers[header] !== value,
    );
    const busy = working.get(name);
    const immediate = (): Answer => {
      if (missing || fault?.type === 'unauthorized') return problemAnswer(401, 'unauthorized');
      if (busy !== undefined) return problemAnswer(409, 'in_progress', { retryAfter: busy });
      switch (fault?.type) {
        case 'status': {
          const { status, retryAfter, code, json } = fault;
          if (json !== undefined) return jsonAnswer(status, json, { retryAfter });
          return code
            ? problemAnswer(status, code, { retryAfter })
            : textAnswer(status, 'text/plain', retryAfter);
        }
        case 'portal':
          return textAnswer(200, 'text/html');
        case 'conflict': {
          // The ledger's word comes first: what was applied does not conflict with itself.
          if (ledger.has(name)) return apply(request);
          const target = request.target.type === 'id' ? request.target.id : '';
          const revision = resources.get(place(request.owner, request.family, target))?.revision;
          const actual = fault.actual ?? revision ?? (request.expectedRevision ?? 0) + 1;
          return problemAnswer(412, 'revision_conflict', { json: { actual_revision: actual } });
        }
        case 'answer':
          if (fault.applies) apply(request);
          return fault.answer;
        case 'no_receipt':
          apply(request);
          return jsonAnswer(200, {});
        case 'wrong_receipt': {
          const given = apply(request);
          if (given.type !== 'response' || !given.ok) return given;
          const receipt = ledger.get(name)?.receipt;
          return { ...given, json: { receipt: { ...receipt, ...fault.fields } } };
        }
        case 'drop_answer':
          apply(request);
          return networkFailure();
        default:
          return apply(request);
      }
    };
    if (fault?.type === 'slow' && !missing && busy === undefined) {
      working.set(name, fault.retryAfter ?? '1');
      let given: Answer | undefined;
      // The server goes on whether or not anybody still listens, so this timer is never cancelled.
      deps.timers.after(fault.ms, () => {
        working.delete(name);
        given = apply(request);
      });
      await pause(fault.ms, signal);
      return given ?? networkFailure(true);
    }
    const given = immediate();
    if (fault?.type === 'hang') {
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve());
      });
      return networkFailure(true);
    }
    await pause(server.latencyMs + (fault?.type === 'delay' ? fault.ms : 0), signal);
    return signal.aborted ? networkFailure(true) : given;
  };

  const server: ScriptedServer = {
    sender: {
      async send(request, signal) {
        if (!server.reachable) return networkFailure();
        const key = JSON.stringify(toKeyArray(request));
        const served = { ...request, body: structuredClone(request.body), at: deps.clock.now() };
        const entry: (typeof requests)[number] = served;
        requests.push(entry);
        open++;
        mostOpen = Math.max(mostOpen, open);
        const ofKey = (openOfKey.get(key) ?? 0) + 1;
        openOfKey.set(key, ofKey);
        mostOpenOfKey = Math.max(mostOpenOfKey, ofKey);
        try {
          return await answer(request, signal);
        } finally {
          open--;
          entry.endedAt = deps.clock.now();
          const left = (openOfKey.get(key) ?? 1) - 1;
          if (left > 0) openOfKey.set(key, left);
          else openOfKey.delete(key);
        }
      },
    },
    async findReceipt({ owner, id, sourceRef }) {
      if (!server.reachable) return { type: 'no_answer', answer: networkFailure() };
      lookups.push(id);
      const entry = ledger.get(entryName(owner, id));
      if (!entry || (sourceRef !== undefined && entry.sourceRef !== sourceRef)) return { type: 'none' };
      return { type: 'receipt', receipt: { ...entry.receipt, replayed: true } };
    },
    async readCurrent({ owner, target }) {
      for (const resource of resources.values()) {
        if (resource.owner === owner && resource.target === target && !resource.deleted)
          return { revision: resource.revision, body: structuredClone(resource.body) };
      }
      return undefined;
    },
    requests,
    applied,
    lookups,
    get open() {
      return open;
    },
    get mostOpen() {
      return mostOpen;
    },
    get mostOpenOfKey() {
      return mostOpenOfKey;
    },
    reachable: true,
    latencyMs: 0,
    requireHeaders: {},
    next(faults, match = () => true) {
      for (const fault of [faults].flat()) queue.push({ fault, match });
    },
    always(fault, match = () => true) {
      const entry = { fault, match };
      standing.add(entry);
      return () => {
        standing.delete(entry);
      };
    },
    resource: (owner, family, target) => resources.get(place(owner, family, target)),
    change(owner, family, target, body) {
      const where = place(owner, family, target);
      const revision = (resources.get(where)?.revision ?? 0) + 1;
      resources.set(where, { owner, target, revision, body, deleted: body === undefined });
      return revision;
    },
    receipt(id) {
      for (const entry of ledger.values()) if (entry.receipt.id === id) return entry.receipt;
      return undefined;
    },
    requestsOf: (id) => requests.filter((request) => request.id === id),
  };
  return server;
}
