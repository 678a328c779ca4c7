/**
 * Keeps one screen about one outbox: follows the live view and the journal, asks for what a person opens, carries out
 * what they choose, and draws. Knows no element of its own: it draws into the root it is given.
 */
import type { JournalEntry } from '../../shared/outcome.ts';
import type { ViewRow } from '../../shared/protocol.ts';
import type { ViewSnapshot } from '../view-snapshot.ts';
import { createFormat } from './format.ts';
import { type History, NO_HISTORY, noteDepth, noteSent, stepsOf } from './history.ts';
import type { Actions, ChartPart, Detail, InspectedOutbox, Model, RowPart } from './model.ts';
import { type Mount, patch } from './patch.ts';
import { familiesOf, filterRows, linkRows, NO_FILTER, PAGE_ROWS, pageOf, type RowFilter } from './rows.ts';
import { STYLES } from './styles.ts';
import { judge, waitingOf } from './verdict.ts';
import { view } from './view.ts';
import { CLOSED, rowId } from './view-parts.ts';
import { ENGLISH, type InspectorWords } from './words.ts';

export interface InspectorSetup {
  readonly realm: Pick<
    typeof window,
    'Date' | 'document' | 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval'
  >;
  readonly outbox: InspectedOutbox;
  readonly root: ShadowRoot;
  /** Where the inspector is drawn, and where it speaks: a polite region and an urgent one. */
  readonly frame: HTMLElement;
  readonly status: HTMLElement;
  readonly alert: HTMLElement;
  /** In place of the English ones. */
  readonly words: Partial<InspectorWords>;
  readonly locale: string | undefined;
  readonly nameOf: ((row: ViewRow) => string | undefined) | undefined;
}

export interface Inspector {
  /** The element has another width. */
  measure(): void;
  stop(): void;
}

/** A drain changes the view with every frame; a person reads no faster than this. */
const DRAW_MS = 100;
const TICK_MS = 1_000;
/** So far back the chart begins with what ended before anybody looked. */
const JOURNAL_BACK = 500;
/** Pages of the journal read at once: a drain may be faster than this screen, and is not followed word by word. */
const JOURNAL_PAGES = 4;
const SHOWN_OUTCOMES = 12;
/** Past this, what is known of rows that have gone is forgotten. */
const MOST_DETAILS = 100;

/** Made anew only where what it is made of is another object. */
function remember<A extends readonly unknown[], R>(make: (...args: A) => R): (...args: A) => R {
  let last: { readonly args: A; readonly made: R } | undefined;
  return (...args) => {
    if (!last || args.some((arg, place) => arg !== last?.args[place])) last = { args, made: make(...args) };
    return last.made;
  };
}

export function startInspector(setup: InspectorSetup): Inspector {
  const { realm, outbox, root, frame, status, alert, locale, nameOf } = setup;
  const words = { ...ENGLISH, ...setup.words };
  const formatAt = createFormat(locale);
  const links = remember(linkRows);
  const families = remember(familiesOf);
  const filtered = remember(filterRows);
  let owner: string | undefined;
  let filter: RowFilter = NO_FILTER;
  let page = 0;
  let details: ReadonlyMap<string, Detail> = new Map();
  let outcomes: readonly JournalEntry[] = [];
  let place: { readonly epoch: string; readonly n: number } | undefined;
  let history: History = NO_HISTORY;
  let chartWidth = 0;
  let isFlushing = false;
  let isReading = false;
  let hasNews = true;
  let hasStopped = false;
  let drawing: number | undefined;
  let mounts: readonly Mount[] = [];
  let lastTitle: string | undefined;
  let focusNext: (() => Element | null | undefined) | undefined;
  let chartPart: ChartPart | undefined;
  let rowPart: RowPart | undefined;
  let loading: Promise<RowPart> | undefined;

  const detailOf = (origin: string): Detail => details.get(origin) ?? CLOSED;
  const row = (origin: string): HTMLElement | null => root.getElementById(rowId(origin));
  const adopt = (styles: string): void => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  };
  const loadChartPart = async (): Promise<void> => {
    const { CHART_STYLES, createChartPart } = await import('./chart-part.ts');
    adopt(CHART_STYLES);
    chartPart = createChartPart(setup.words);
  };
  const loadRowPart = async (): Promise<RowPart> => {
    const { createRowPart, ROW_STYLES } = await import('./row-part.ts');
    adopt(ROW_STYLES);
    const screen = {
      outbox,
      setDetail,
      hush: () => {
        alert.textContent = '';
      },
      say: (text: string) => say(status, text),
      complain,
      focusNext(origin: string, where: 'title' | 'ask') {
        focusNext = () =>
          where === 'title' ? row(origin) : row(origin)?.closest('li')?.querySelector('[data-focus]');
      },
    };
    rowPart = createRowPart(screen, words, setup.words);
    return rowPart;
  };
  const needRowPart = (): Promise<RowPart> => {
    loading ??= loadRowPart().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  const setDetail = (origin: string, part: Partial<Detail>): void => {
    details = new Map(details).set(origin, { ...detailOf(origin), ...part });
    draw();
  };
  const say = (region: HTMLElement, text: string): void => {
    // The same words again would not be read out.
    region.textContent = region.textContent === text ? `${text}\u00a0` : text;
  };
  const complain = (error: unknown): void =>
    say(alert, words.failed(error instanceof Error ? error.message : String(error)));

  const modelOf = (snapshot: ViewSnapshot, now: number): Model => ({
    words,
    format: formatAt(now),
    now,
    snapshot,
    filter,
    page: pageOf(filtered(snapshot.rows, filter), page),
    families: families(snapshot.rows),
    links: links(snapshot.rows),
    details,
    rowPart,
    chartPart,
    outcomes,
    steps: stepsOf(history, now),
    chartWidth,
    isFlushing,
    nameOf,
  });

  /** What became of the whole outbox, once, and not each figure of a drain. */
  const announceVerdict = ({ snapshot, format }: Model): void => {
    const { tone, title } = judge(snapshot, words, format);
    if (tone === 'busy' || title === lastTitle) return;
    if (lastTitle !== undefined) say(status, title);
    lastTitle = title;
  };

  const draw = (): void => {
    realm.clearTimeout(drawing);
    drawing = undefined;
    if (hasStopped) return;
    const snapshot = outbox.view.getSnapshot();
    if (snapshot.owner !== owner) forget(snapshot.owner);
    const model = modelOf(snapshot, realm.Date.now());
    page = model.page.page;
    const focused = root.activeElement;
    mounts = patch(frame, mounts, view(model, actions));
    announceVerdict(model);
    const wanted = focusNext?.();
    focusNext = undefined;
    if (wanted instanceof HTMLElement) wanted.focus();
    // What had the focus has gone: without this a keyboard would begin at the top of the page again.
    else if (focused && !focused.isConnected) root.getElementById('rows')?.focus();
    measure();
  };
  const drawSoon = (): void => {
    drawing ??= realm.setTimeout(draw, DRAW_MS);
  };
  const forget = (next: string | undefined): void => {
    owner = next;
    details = new Map();
    outcomes = [];
    place = undefined;
    history = NO_HISTORY;
    filter = NO_FILTER;
    page = 0;
    hasNews = true;
  };
  const measure = (): void => {
    const width = Math.floor(frame.querySelector('.plot')?.getBoundingClientRect().width ?? 0);
    if (width === chartWidth || width === 0) return;
    chartWidth = width;
    drawSoon();
  };

  const readJournal = async (): Promise<void> => {
    const mine = owner;
    if (mine === undefined) return;
    if (!place) {
      const { epoch, last } = await outbox.journal(undefined);
      place ??= { epoch, n: Math.max(0, last - JOURNAL_BACK) };
    }
    for (
      let pages = 0, last = Number.POSITIVE_INFINITY;
      pages < JOURNAL_PAGES && place && place.n < last;
      pages++
    ) {
      const found = await outbox.journal(place);
      if (hasStopped || owner !== mine) return;
      last = found.last;
      // The database was made anew: what it told before is another story.
      if (found.epoch !== place.epoch) outcomes = [];
      place = { epoch: found.epoch, n: found.entries.at(-1)?.n ?? found.last };
      take(found.entries);
    }
  };
  const take = (entries: readonly JournalEntry[]): void => {
    outcomes = [...entries.toReversed(), ...outcomes].slice(0, SHOWN_OUTCOMES);
    const sent = entries.filter(({ outcome }) => outcome.type === 'committed');
    history = noteSent(
      history,
      realm.Date.now(),
      sent.map(({ at }) => at),
    );
    if (entries.length > 0) drawSoon();
  };

  const explain = async (origin: string): Promise<void> => {
    const shown = links(outbox.view.getSnapshot().rows).row(origin);
    const explained = shown && (await outbox.explain(shown.id));
    if (hasStopped || !details.has(origin)) return;
    details = new Map(details).set(origin, { ...detailOf(origin), explained: explained ?? 'gone' });
    drawSoon();
  };
  const readNews = async (): Promise<void> => {
    hasNews = false;
    const { page: shown } = modelOf(outbox.view.getSnapshot(), realm.Date.now());
    const open = shown.rows.filter(({ origin }) => detailOf(origin).isOpen);
    await Promise.all([readJournal(), ...open.map(({ origin }) => explain(origin))]);
  };
  const lookForNews = (): void => {
    if (isReading || !hasNews || owner === undefined) return;
    isReading = true;
    readNews()
      // The host did not answer; the next tick asks again.
      .catch(() => {
        hasNews = true;
      })
      .finally(() => {
        isReading = false;
      });
  };
  const look = (): void => {
    const snapshot = outbox.view.getSnapshot();
    if (snapshot.owner !== owner) forget(snapshot.owner);
    if (snapshot.isReady) history = noteDepth(history, realm.Date.now(), waitingOf(snapshot));
    // Where it cannot be loaded now, the next look tries again; that is said once.
    if (snapshot.rows.length > 0 && !loading)
      needRowPart().then(draw, (error) => {
        if (alert.textContent === '') complain(error);
      });
    if (details.size > MOST_DETAILS)
      details = new Map([...details].filter(([origin]) => links(snapshot.rows).row(origin)));
  };
  const follow = (): void => {
    look();
    hasNews = true;
    drawSoon();
  };

  const run = (work: Promise<unknown>, said?: string): void => {
    alert.textContent = '';
    work.then(() => said !== undefined && say(status, said), complain).finally(draw);
  };
  const actions: Actions = {
    flush() {
      isFlushing = true;
      draw();
      run(
        outbox.flush().finally(() => {
          isFlushing = false;
        }),
      );
    },
    pause: () => run(outbox.pause()),
    resume: () => run(outbox.resume()),
    persist: () => run(outbox.persist()),
    exportAll: () =>
      run(
        Promise.all([outbox.export(), needRowPart()]).then(([exported, { toText }]) =>
          download(toText(exported), `outbox-${exported.exportedAt}.json`),
        ),
        words.exported,
      ),
    filter(part) {
      filter = { ...filter, ...part };
      page = 0;
      draw();
    },
    turnTo(next) {
      page = next;
      draw();
      const { page: now } = modelOf(outbox.view.getSnapshot(), realm.Date.now());
      say(status, words.shown(now.page * PAGE_ROWS + 1, now.page * PAGE_ROWS + now.rows.length, now.total));
    },
    toggle({ origin }) {
      const { isOpen } = detailOf(origin);
      setDetail(origin, { isOpen: !isOpen });
      if (!isOpen) run(Promise.all([needRowPart(), explain(origin)]));
    },
    goTo(origin) {
      const { rows } = outbox.view.getSnapshot();
      filter = NO_FILTER;
      page = Math.floor(rows.findIndex((row) => row.origin === origin) / PAGE_ROWS);
      focusNext = () => row(origin);
      setDetail(origin, { isOpen: true });
      run(Promise.all([needRowPart(), explain(origin)]));
    },
  };

  const end = outbox.view.subscribe(follow);
  const ticking = realm.setInterval(() => {
    if (realm.document.hidden) return;
    look();
    lookForNews();
    draw();
  }, TICK_MS);
  adopt(STYLES);
  look();
  draw();
  run(loadChartPart());
  lookForNews();

  return {
    measure,
    stop() {
      hasStopped = true;
      end();
      realm.clearInterval(ticking);
      realm.clearTimeout(drawing);
      frame.replaceChildren();
      root.adoptedStyleSheets = [];
    },
  };
}

function download(text: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
