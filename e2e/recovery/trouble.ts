/**
 * Trouble with a worker's storage, named in its script's address, since a worker has to know of it before it opens
 * anything: `?broken=<database>` cannot be opened, `?hold=<step>` keeps the transaction of a recovery's step open, so
 * that the worker can be ended in the middle of it.
 */

/** In the order in which a recovery comes by. */
export const STEPS = [
  'the first row',
  'the last row',
  'the ledger’s part done',
  'a row agreed',
  'the snapshot’s part done',
] as const;
export type Step = (typeof STEPS)[number];

/** Tells pages that a step is being held. */
export const HELD = 'trouble:held';

declare const self: { readonly location: { readonly search: string } };

export function makeTrouble(): void {
  const wanted = new URLSearchParams(self.location.search);
  breakOpening(wanted.getAll('broken'));
  const step = STEPS.find((one) => one === wanted.get('hold'));
  if (step !== undefined) hold(step, Number(wanted.get('rows')));
}

function breakOpening(names: readonly string[]): void {
  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function openUnlessBroken(name, version) {
    if (names.includes(name)) throw new DOMException('Internal error opening backing store', 'UnknownError');
    return open.call(this, name, version);
  };
}

function hold(step: Step, rows: number): void {
  const { put } = IDBObjectStore.prototype;
  let written = 0;
  let isHeld = false;
  const isNow = (store: IDBObjectStore, key: IDBValidKey | undefined): boolean => {
    if (store.name === 'rows') written++;
    const place = store.name === 'rows' ? written : 0;
    const part = store.name === 'meta' && Array.isArray(key) && key[0] === 'recovery' ? key.length : 0;
    const reached: Record<Step, boolean> = {
      'the first row': place === 1,
      'the last row': place === rows,
      'the ledger’s part done': part === 1,
      'a row agreed': place === rows + 1,
      'the snapshot’s part done': part === 2,
    };
    return reached[step];
  };
  IDBObjectStore.prototype.put = function putAndHold(value, key) {
    const request = key === undefined ? put.call(this, value) : put.call(this, value, key);
    if (!isHeld && this.transaction.mode === 'readwrite' && isNow(this, key)) {
      isHeld = true;
      new BroadcastChannel(HELD).postMessage(step);
      // The store would end it as soon as its requests are made.
      this.transaction.commit = () => undefined;
      keepOpen(this);
    }
    return request;
  };
}

/** A transaction lives for as long as it is asked for something. */
function keepOpen(store: IDBObjectStore): void {
  store.get(['nothing', 0]).onsuccess = () => keepOpen(store);
}
