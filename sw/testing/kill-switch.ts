/**
 * Ends a host the way a browser does (W3): between two instructions, without a word. Whatever it awaits never comes
 * back to it, its timers stay silent, its requests lose their connection.
 */
import type { Answer, Sender } from '../dispatch/sender.ts';
import type { Timers } from '../environment.ts';
import type { RowStore } from '../outbox/row-store.ts';

export interface KillSwitch {
  /** `start` runs if the host lives now; its answer arrives if the host still lives then. */
  living<T>(start: () => Promise<T>): Promise<T>;
  readonly timers: Timers;
  wrap(store: RowStore): RowStore;
  sender(sender: Sender): Sender;
  kill(): void;
}

export function createKillSwitch(timers: Timers): KillSwitch {
  const controller = new AbortController();
  const never = new Promise<never>(() => undefined);

  /** `start` runs if the host lives now; its answer arrives if the host still lives then. */
  const living = <T>(start: () => Promise<T>): Promise<T> => {
    if (controller.signal.aborted) return never;
    return new Promise((resolve, reject) => {
      start().then(
        (value) => {
          if (!controller.signal.aborted) resolve(value);
        },
        (error) => {
          if (!controller.signal.aborted) reject(error);
        },
      );
    });
  };

  return {
    living,
    timers: {
      after: (ms, callback) =>
        timers.after(ms, () => {
          if (!controller.signal.aborted) callback();
        }),
    },
    wrap: (store) => ({
      epoch: () => living(() => store.epoch()),
      commit: (commits) => living(() => store.commit(commits)),
      readKeys: (keys) => living(() => store.readKeys(keys)),
      findRows: (ids) => living(() => store.findRows(ids)),
      findByOrigin: (origins) => living(() => store.findByOrigin(origins)),
      findWaiting: (origin) => living(() => store.findWaiting(origin)),
      readLane: (owner, lane, page) => living(() => store.readLane(owner, lane, page)),
      index: (owner, page) => living(() => store.index(owner, page)),
      readBodies: (bodyIds) => living(() => store.readBodies(bodyIds)),
      ownerFacts: (owner) => living(() => store.ownerFacts(owner)),
      owners: () => living(() => store.owners()),
      findEnds: (ids) => living(() => store.findEnds(ids)),
      findEndOfOrigin: (origin) => living(() => store.findEndOfOrigin(origin)),
      findOutcome: (id) => living(() => store.findOutcome(id)),
      readJournal: (owner, after, limit) => living(() => store.readJournal(owner, after, limit)),
      trim: (owner, now) => living(() => store.trim(owner, now)),
      readFact: (name) => living(() => store.readFact(name)),
      readFacts: (prefix, limit) => living(() => store.readFacts(prefix, limit)),
      writeFacts: (facts, durability) => living(() => store.writeFacts(facts, durability)),
      unreadable: (limit, after) => living(() => store.unreadable(limit, after)),
      onFresh: (listener) => store.onFresh?.(listener),
      close: () => store.close(),
    }),
    sender(sender) {
      const open = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, controller.signal]);
      const { sendBatch } = sender;
      return {
        send: (request, signal) => living<Answer>(() => sender.send(request, open(signal))),
        batchLimit: (family) => sender.batchLimit?.(family) ?? 1,
        ...(sendBatch && {
          sendBatch: (requests, signal) => living(() => sendBatch(requests, open(signal))),
        }),
      };
    },
    kill: () => controller.abort(),
  };
}
