/** A page whose outbox a test drives from outside, and that writes down everything it hears. */
import { connectOutbox } from '../../../client/connect-outbox.ts';
import type { Outbox } from '../../../client/outbox.ts';
import type { ViewSnapshot } from '../../../client/view-snapshot.ts';
import type { OutcomeType } from '../../../shared/outcome.ts';
import { type Broadcast, channelName, type HandedCredentials } from '../../../shared/protocol.ts';
import type { Reported } from '../../../sw/dispatch/report.ts';
import { encryptBodies } from '../../../sw/encryption/index.ts';
import { type AppFamilies, definition } from './definition.ts';
import { REPORTS, setup } from './sending.ts';
import { type ShownWorkouts, showWorkouts, type WorkoutsPage } from './shown-workouts.ts';

export interface ConnectTo {
  readonly owner?: string | undefined;
  /** `page`: the engine in the page. Default: the worker that sends with cookies. */
  readonly worker?: string | undefined;
  /** Whether an engine in the page encrypts bodies (W63). */
  readonly isEncrypted?: boolean | undefined;
}

/** An outcome as it was broadcast, or a passing one. */
export interface Heard {
  readonly id: string;
  readonly type: OutcomeType;
}

export interface OutboxApp {
  connect(to?: ConnectTo): Promise<ViewSnapshot['host']>;
  readonly outbox: Outbox<AppFamilies>;
  /** In the order in which they came. */
  readonly heard: readonly Heard[];
  readonly reports: readonly Reported[];
  /** Every message of the outbox to its pages, as text. */
  readonly messages: readonly string[];
  /** Resolves with the view once it shows all of `pattern`; lists have as many members as it says. */
  whenView(pattern: unknown): Promise<ViewSnapshot>;
  whenHeard(wanted: Heard): Promise<void>;
  /** Shows what the server has, and reacts to outcomes from now on. */
  react(): Promise<void>;
  /** Shows one workout in detail. */
  open(id: string): Promise<void>;
  /** Resolves with what is shown once that has all of `pattern`. */
  whenShown(pattern: unknown): Promise<ShownWorkouts>;
  /** Flushes, and resolves when everything has been told that was to tell. */
  rest(): Promise<void>;
  /** What this page answers a worker that asks for a token; `undefined`: signed out. */
  token: string | undefined;
  /** For each time it was asked: whether the last one had been refused. */
  readonly asked: readonly boolean[];
}

declare global {
  var outboxApp: OutboxApp;
}

const heard: Heard[] = [];
const reports: Reported[] = [];
const messages: string[] = [];
const asked: boolean[] = [];
const listeners = new Set<() => void>();
let connected: Outbox<AppFamilies> | undefined;
let workouts: WorkoutsPage | undefined;
let drainsEnded = 0;

function take(message: Broadcast): void {
  messages.push(JSON.stringify(message));
  if (message.type === 'change')
    for (const { row, type } of [...message.entries, ...message.passing]) heard.push({ id: row.id, type });
  if (message.type === 'progress' && !message.running) drainsEnded += 1;
}

const tell = (): void => {
  for (const listener of listeners) listener();
};
new BroadcastChannel(channelName('holdfast')).addEventListener('message', ({ data }) => {
  for (const message of data as readonly Broadcast[]) take(message);
  tell();
});
new BroadcastChannel(REPORTS).addEventListener('message', ({ data }) => {
  reports.push(data as Reported);
  tell();
});

function once(isMet: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isMet()) return;
      listeners.delete(look);
      resolve();
    };
    listeners.add(look);
    look();
  });
}

function shows(value: unknown, pattern: unknown): boolean {
  if (typeof pattern !== 'object' || pattern === null) return Object.is(value, pattern);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(pattern) && (!Array.isArray(value) || value.length !== pattern.length)) return false;
  return Object.entries(pattern).every(([name, part]) => shows(Reflect.get(value, name), part));
}

function reacting(): WorkoutsPage {
  if (!workouts) throw new Error('This page does not react');
  return workouts;
}

const app: OutboxApp = {
  async connect({ owner, worker = '/sw.js', isEncrypted = false } = {}) {
    connected?.close();
    connected = await connectOutbox(definition, {
      worker,
      owner,
      fallback: () => (isEncrypted ? { ...setup, encryption: encryptBodies() } : setup),
      async credentials(_owner, refused): Promise<HandedCredentials | undefined> {
        asked.push(refused);
        return app.token === undefined ? undefined : { headers: { authorization: `Bearer ${app.token}` } };
      },
    });
    connected.view.subscribe(tell);
    return connected.view.getSnapshot().host;
  },
  get outbox() {
    if (!connected) throw new Error('Not connected');
    return connected;
  },
  heard,
  reports,
  messages,
  async whenView(pattern) {
    await once(() => shows(app.outbox.view.getSnapshot(), pattern));
    return app.outbox.view.getSnapshot();
  },
  whenHeard: ({ id, type }) => once(() => heard.some((one) => one.id === id && one.type === type)),
  async react() {
    workouts = await showWorkouts(app.outbox);
    workouts.subscribe(tell);
  },
  open: (id) => reacting().open(id),
  async whenShown(pattern) {
    await once(() => shows(reacting().shown(), pattern));
    return reacting().shown();
  },
  async rest() {
    const before = drainsEnded;
    await app.outbox.flush();
    await once(() => drainsEnded > before);
  },
  token: undefined,
  asked,
};

globalThis.outboxApp = app;
