/** Beside the page: writes down what it told its worker unasked, and acts by itself where no driver can. */
import { keepAppBadge } from '../../client/app-badge.ts';
import type { FlushCause } from '../../shared/answers.ts';

export interface Beside {
  /** Triggers that this page posted to its worker, in order. */
  readonly posted: readonly FlushCause[];
  /** Whether it came back out of the browser's memory. */
  readonly wasKept: boolean;
  /** What the browser took for the app's badge, in order; 0 for none. */
  readonly badges: readonly number[];
  keepBadge(): void;
  /** Signs in with the server, so that its cookie is there. */
  enter(): Promise<void>;
  /** What is left in the database. */
  left(): Promise<{ readonly rows: number; readonly bodies: number }>;
}

declare global {
  var beside: Beside;
}

const posted: FlushCause[] = [];
const badges: number[] = [];
let wasKept = false;

/** A call as the page posts it, where its method is `trigger`. */
interface TriggerCall {
  readonly message?: {
    readonly path?: readonly string[];
    readonly argumentList?: readonly { readonly value: FlushCause }[];
  };
}

function note(sent: TriggerCall | undefined): void {
  const { path, argumentList } = sent?.message ?? {};
  const [cause] = argumentList ?? [];
  if (path?.[0] === 'trigger' && cause) posted.push(cause.value);
}

ServiceWorker.prototype.postMessage = new Proxy(ServiceWorker.prototype.postMessage, {
  apply(original, worker, sent: readonly unknown[]) {
    note(sent[0] as TriggerCall | undefined);
    return Reflect.apply(original, worker, sent);
  },
});

addEventListener('pageshow', ({ persisted }) => {
  wasKept ||= persisted;
});

globalThis.beside = {
  posted,
  get wasKept() {
    return wasKept;
  },
  badges,
  keepBadge() {
    keepAppBadge(globalThis.outboxApp.outbox.view, {
      navigator: {
        async setAppBadge(count = 0) {
          await navigator.setAppBadge(count);
          badges.push(count);
        },
        async clearAppBadge() {
          await navigator.clearAppBadge();
          badges.push(0);
        },
      },
    });
  },
  async enter() {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ account: 'ada', password: 'lovelace' });
    const { status } = await fetch('/api/session', { method: 'POST', headers, body });
    if (status !== 200) throw new Error(`Signing in was answered ${status}`);
  },
  async left() {
    const database = await settle(indexedDB.open('holdfast'));
    const transaction = database.transaction(['rows', 'bodies']);
    const [rows, bodies] = await Promise.all([
      settle(transaction.objectStore('rows').count()),
      settle(transaction.objectStore('bodies').count()),
    ]);
    database.close();
    return { rows, bodies };
  },
};

function settle<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

const tell = (told: object): Promise<Response> =>
  fetch('/api/told', { method: 'POST', body: JSON.stringify(told) });

/**
 * By the address alone: `?then=store` stores a workout and says so, `?then=photo` one with a photo and says what became
 * of it, `?then=rest` says so when nothing waits.
 */
async function act(then: string | null): Promise<void> {
  if (then === null) return;
  await globalThis.beside.enter();
  await globalThis.outboxApp.connect({ owner: 'ada' });
  const { workout, view } = globalThis.outboxApp.outbox;
  if (then === 'store') {
    const { id } = await workout.create({ date: '2026-11-30', exercise: 'Squat', weightKg: 60 });
    await tell({ stored: id });
    return;
  }
  if (then === 'photo') {
    const { photo, settled } = globalThis.outboxApp.outbox;
    const { target } = await workout.create({ date: '2026-11-30', exercise: 'Squat', weightKg: 60 });
    const picture = new File([new Uint8Array(3_000_000)], 'a.jpg', { type: 'image/jpeg' });
    const { id } = await photo.create({ picture }, { under: { workout: target } });
    await tell({ photo: (await settled(id, { final: true })).type });
    return;
  }
  const { counts } = await globalThis.outboxApp.whenView({ isReady: true, rows: [] });
  await tell({ counts, left: await globalThis.beside.left(), host: view.getSnapshot().host });
}
act(new URLSearchParams(location.search).get('then')).catch((error: unknown) =>
  tell({ error: String(error) }),
);
