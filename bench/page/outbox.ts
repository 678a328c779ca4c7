/** The page of the outbox under test: connects as an app does, and is driven from outside through `bench`. */
import { connectOutbox } from '../../client/connect-outbox.ts';
import { createLiveView } from '../../client/live-view.ts';
import type { Outbox } from '../../client/outbox.ts';
import { emptySnapshot } from '../../client/view-snapshot.ts';
import { channelName, type HostFacts, type ViewRow } from '../../shared/protocol.ts';
import { definition, makeItem, OWNER, ROW_BYTES } from '../common/definition.ts';
import type { Counts, Mark, OutboxOp } from '../common/worker-calls.ts';
import { commitEach, seedRows } from './seed-rows.ts';

type BenchOutbox = Outbox<typeof definition.families>;

let outbox: BenchOutbox | undefined;
let made = 0;
const broadcast = { bytes: 0, isMeasured: false };
const snapshots = { writes: 0, bytes: 0 };

const opened = (): BenchOutbox => {
  if (!outbox) throw new Error('Not connected');
  return outbox;
};
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};
const create = (bytes: number): Promise<unknown> => opened().item.create(makeItem(++made, bytes));

/** JSON is made of every message only while that is asked for. */
function listen(): void {
  new BroadcastChannel(channelName('holdfast')).onmessage = ({ data }) => {
    if (broadcast.isMeasured) broadcast.bytes += JSON.stringify(data).length;
  };
  const setItem = Storage.prototype.setItem;
  Storage.prototype.setItem = function (this: Storage, key: string, value: string): void {
    snapshots.writes++;
    snapshots.bytes += value.length;
    setItem.call(this, key, value);
  };
}

async function ask(call: { readonly op: 'trace' }): Promise<readonly Mark[] | undefined>;
async function ask(call: OutboxOp): Promise<Counts | undefined>;
async function ask(call: OutboxOp): Promise<unknown> {
  const registration = await navigator.serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise<unknown>((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
  });
  registration.active?.postMessage(call, [port2]);
  return await answer;
}

const api = {
  /** Milliseconds until the outbox is ready. With an owner the live view is on, as in an app that shows it. */
  async connect(worker: string, owner: string | undefined = OWNER): Promise<number> {
    const ms = await timed(async () => {
      outbox = await connectOutbox(definition, { worker, owner });
    });
    await navigator.serviceWorker.ready;
    const { view } = opened();
    view.subscribe(() => void view.getSnapshot());
    return ms;
  },
  /** What waits is kept back until `drain`. */
  pause: () => opened().pause(),
  /** Until the live view, which is on, has read all rows. */
  async viewed(): Promise<void> {
    for (;;) {
      const { rows, counts } = opened().view.getSnapshot();
      if (rows.length === counts.queued + counts.sending + counts.held + counts.blocked) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  },
  /** One after another, each awaited: milliseconds of each. */
  async enqueueEach(count: number): Promise<readonly number[]> {
    const samples: number[] = [];
    for (let i = 0; i < count; i++) samples.push(await timed(() => create(ROW_BYTES)));
    return samples;
  },
  /** One at a time, with pauses between them: what the worker did for each, and when it began and ended here. */
  async traceEnqueues(count: number, pauseMs: number): Promise<readonly (readonly Mark[])[]> {
    await ask({ op: 'trace' });
    const calls: (readonly Mark[])[] = [];
    for (let i = 0; i < count; i++) {
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      const marks = (await ask({ op: 'trace' })) ?? [];
      if (i > 0) calls[i - 1] = [...(calls[i - 1] ?? []), ...marks];
      const from = performance.timeOrigin + performance.now();
      await create(ROW_BYTES);
      calls.push([
        { at: from, what: 'call' },
        { at: performance.timeOrigin + performance.now(), what: 'answered' },
      ]);
    }
    return calls;
  },
  /** All at once, until the last is stored; a call waits at most seconds, so not too many. */
  async enqueueBurst(count: number, bytes: number = ROW_BYTES): Promise<number> {
    return await timed(() => Promise.all(Array.from({ length: count }, () => create(bytes))));
  },
  async enqueueMany(count: number, bytes: number): Promise<void> {
    for (let left = count; left > 0; left -= 250) await api.enqueueBurst(Math.min(left, 250), bytes);
  },
  /** Sends everything; milliseconds from the word to the empty queue. */
  async drain(): Promise<number> {
    return await timed(async () => {
      await opened().resume();
      for (;;) {
        const { remaining, stoppedBy } = await opened().flush();
        if (remaining.queued + remaining.sending + remaining.held === 0) return;
        if (stoppedBy !== undefined) throw new Error(`The drain was stopped: ${stoppedBy}`);
      }
    });
  },
  /** A message to the worker that Holdfast has no part in, and its answer: what the start of this very script takes. */
  pingBeside: () => timed(() => ask({ op: 'counts' })),
  /** Something small that needs an answer from the worker and its database. */
  async firstAnswer(): Promise<number> {
    return await timed(() => opened().journal(undefined));
  },
  /** The browser's own part of a first answer: opening this outbox's database and one read. */
  async openRaw(): Promise<number> {
    return await timed(async () => {
      const database = await new Promise<IDBDatabase>((resolve, reject) => {
        const request = indexedDB.open('holdfast');
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
      await new Promise((resolve, reject) => {
        const request = database.transaction('meta').objectStore('meta').get(['state']);
        request.onsuccess = resolve;
        request.onerror = () => reject(request.error);
      });
      database.close();
    });
  },
  seed: (count: number) => seedRows(count),
  commitEach,
  ask,
  measureBroadcasts(): void {
    broadcast.bytes = 0;
    broadcast.isMeasured = true;
    snapshots.writes = 0;
    snapshots.bytes = 0;
  },
  measured: () => ({ broadcastBytes: broadcast.bytes, ...snapshots }),
  /** A view of `count` rows, as pages have it: milliseconds per change, with the list made anew each time. */
  async viewChanges(count: number, changes: number): Promise<readonly number[]> {
    const facts: HostFacts = {
      protocol: 1,
      release: '',
      host: '',
      kind: 'worker',
      activeOwner: OWNER,
      awaitsSnapshot: false,
      triggers: { sync: 'idle', periodicSync: false },
    };
    const counts = { queued: count, sending: 0, held: 0, blocked: 0 };
    const rows = Array.from({ length: count }, (_, i): ViewRow => viewRow(i + 1));
    const readPage = async (after = 0, limit: number) => ({
      rows: rows.slice(after, after + limit),
      generation: 0,
      epoch: 'bench',
      counts,
    });
    const view = createLiveView(emptySnapshot(facts), readPage, { setTimeout: () => 0 });
    view.subscribe(() => undefined);
    view.show(OWNER);
    while (view.getSnapshot().rows.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
    return Array.from({ length: changes }, (_, i) => {
      const start = performance.now();
      view.take({
        type: 'change',
        owner: OWNER,
        epoch: 'bench',
        after: i,
        generation: i + 1,
        counts: [count, 0, 0, 0],
        rows: [{ id: `row-${1 + ((i * 7_919) % count)}`, version: i + 2, attemptCount: 1 }],
        removed: [],
        entries: [],
        passing: [],
      });
      view.getSnapshot();
      return performance.now() - start;
    });
  },
};

function viewRow(seq: number): ViewRow {
  const id = `row-${seq}`;
  return {
    id,
    origin: id,
    seq,
    family: 'item',
    kind: 'create',
    target: { type: 'pending', origin: id },
    savedAt: seq,
    state: 'queued',
    version: 1,
    doubt: false,
    attemptCount: 0,
  };
}

export type OutboxPage = typeof api;

listen();
Object.assign(globalThis, { bench: api });
