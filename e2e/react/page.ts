/** Three parts of a page that read the live view with React's hook, and what a test wants to know of their renders. */
import { createElement as h, memo, type ReactElement, useLayoutEffect, useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import { definition, OWNER } from '../../bench/common/definition.ts';
import { seedRows } from '../../bench/page/seed-rows.ts';
import { connectOutbox } from '../../client/connect-outbox.ts';
import type { Outbox } from '../../client/outbox.ts';
import type { ViewSnapshot } from '../../client/view-snapshot.ts';
import type { ViewRow } from '../../shared/protocol.ts';

export interface RenderFacts {
  /** Times the view has called back since React listens. */
  readonly published: number;
  /** Renders of each part. */
  readonly renders: Readonly<Record<PartName, number>>;
  readonly rowRenders: number;
  /** Commits in which two parts had shown different snapshots. */
  readonly tears: number;
  /** What is on the screen. */
  readonly shown: { readonly rows: number; readonly head: string; readonly foot: string };
  /** What the view had when it called back last; what comes after is published with the next frame. */
  readonly rows: number;
}

type PartName = 'head' | 'list' | 'foot';

declare global {
  var reactPage: {
    connect(): Promise<void>;
    seed(count: number): Promise<void>;
    /** Resolves when the rows have been read. */
    mount(): Promise<void>;
    readonly outbox: Outbox<typeof definition.families>;
    facts(): RenderFacts;
    /** Resolves when so few rows wait and the screen shows it. */
    untilRows(atMost: number): Promise<void>;
  };
}

let outbox: Outbox<typeof definition.families>;
let published = 0;
let publishedRows = 0;
let tears = 0;
let rowRenders = 0;
const renders = { head: 0, list: 0, foot: 0 };
const used: Partial<Record<PartName, ViewSnapshot>> = {};

function useView(name: PartName): ViewSnapshot {
  const snapshot = useSyncExternalStore(outbox.view.subscribe, outbox.view.getSnapshot);
  renders[name] += 1;
  used[name] = snapshot;
  return snapshot;
}

const Row = memo(function Row({ row }: { readonly row: ViewRow }): ReactElement {
  rowRenders += 1;
  return h('li', undefined, `${row.family} ${row.id} ${row.state}`);
});

function Head(): ReactElement {
  const { rows, counts } = useView('head');
  return h('h1', undefined, `${rows.length} ${counts.queued + counts.sending}`);
}
function List(): ReactElement {
  const { rows } = useView('list');
  return h(
    'ul',
    undefined,
    rows.map((row) => h(Row, { key: row.id, row })),
  );
}
function Foot(): ReactElement {
  const { rows, counts } = useView('foot');
  return h('p', undefined, `${rows.length} ${counts.queued + counts.sending}`);
}
function App(): ReactElement {
  return h('main', undefined, h(Head), h(List), h(Foot), h(Witness));
}
/** Rendered with every publication too, and committed last: by then all parts must have used the same snapshot. */
function Witness(): undefined {
  const snapshot = useSyncExternalStore(outbox.view.subscribe, outbox.view.getSnapshot);
  useLayoutEffect(() => {
    if (Object.values(used).some((one) => one !== snapshot)) tears += 1;
  });
}

const once = (isMet: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    const end = outbox.view.subscribe(look);
    function look(): void {
      if (!isMet()) return;
      end();
      resolve();
    }
    look();
  });
const textOf = (selector: string): string => document.querySelector(selector)?.textContent ?? '';
const shownRows = (): number => document.querySelectorAll('li').length;

globalThis.reactPage = {
  async connect() {
    outbox = await connectOutbox(definition, { worker: '/sw.js', owner: OWNER });
  },
  seed: seedRows,
  async mount() {
    await once(() => outbox.view.getSnapshot().isReady);
    createRoot(document.body.appendChild(document.createElement('div'))).render(h(App));
    await new Promise<void>((resolve) => {
      new MutationObserver((_, observer) => {
        observer.disconnect();
        resolve();
      }).observe(document.body, { childList: true, subtree: true });
    });
    // React listens after the first paint, and looks then whether something has come meanwhile.
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    outbox.view.subscribe(() => {
      published += 1;
      publishedRows = outbox.view.getSnapshot().rows.length;
    });
  },
  get outbox() {
    return outbox;
  },
  facts: () => ({
    published,
    renders: { ...renders },
    rowRenders,
    tears,
    shown: { rows: shownRows(), head: textOf('h1'), foot: textOf('main > p') },
    rows: publishedRows,
  }),
  async untilRows(atMost) {
    await once(() => outbox.view.getSnapshot().rows.length <= atMost);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  },
};
