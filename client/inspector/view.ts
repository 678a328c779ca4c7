/** The whole inspector as data: verdict and commands, chart, rows, and what stands around them. Pure. */
import type { JournalEntry } from '../../shared/outcome.ts';
import type { RowState } from '../../shared/row.ts';
import type { Actions, Model } from './model.ts';
import { PAGE_ROWS } from './rows.ts';
import { isPaused, judge, type Verdict, waitingOf } from './verdict.ts';
import { button, facts, type IconName, icon, off, panel, shortId } from './view-parts.ts';
import { type Child, h, type VNode } from './vnode.ts';

const TONES = {
  good: 'check',
  busy: 'send',
  waits: 'clock',
  held: 'lock',
  bad: 'alert',
} as const satisfies Record<Verdict['tone'], IconName>;
const STATES = ['queued', 'sending', 'held', 'blocked'] as const satisfies readonly RowState[];

export function view(model: Model, actions: Actions): readonly Child[] {
  return [
    viewHead(model, actions),
    h(
      'div',
      { class: 'body' },
      h('div', { class: 'main' }, model.chartPart?.viewChart(model), viewRows(model, actions)),
      h('div', { class: 'side' }, viewPanels(model, actions)),
    ),
  ];
}

function viewHead(model: Model, actions: Actions): VNode {
  const { snapshot, words, format, isFlushing } = model;
  const { progress, owner } = snapshot;
  const verdict = judge(snapshot, words, format);
  const waiting = waitingOf(snapshot);
  const isSignedOut = owner === undefined;
  const isHalted = isPaused(snapshot);
  return h(
    'header',
    { part: 'header', 'data-tone': verdict.tone },
    h('span', { class: 'sign' }, icon(TONES[verdict.tone])),
    h(
      'div',
      { class: 'verdict' },
      h('h2', { id: 'title', tabindex: -1 }, words.title, owner !== undefined && ` ${words.of(owner)}`),
      h('p', { part: 'verdict' }, verdict.title),
      // Its line stays where there is nothing to say: what is below must not jump with every drain.
      h('p', { class: 'soft' }, verdict.more || '\u00a0'),
      progress.running &&
        progress.total > 0 &&
        h('progress', {
          max: progress.total,
          value: progress.done,
          'aria-label': words.sending(progress.done, progress.total),
        }),
    ),
    h(
      'div',
      { class: 'buttons', role: 'group', 'aria-label': words.commands },
      button(
        words.flush,
        actions.flush,
        { class: 'solid', ...off(isFlushing || isSignedOut || isHalted || waiting === 0) },
        'send',
      ),
      button(
        isHalted ? words.resume : words.pause,
        isHalted ? actions.resume : actions.pause,
        off(isSignedOut),
        isHalted ? 'play' : 'pause',
      ),
      button(words.export, actions.exportAll, off(isSignedOut), 'save'),
    ),
  );
}

function viewRows(model: Model, actions: Actions): VNode {
  const { words, format, snapshot, filter, page, families } = model;
  const { counts } = snapshot;
  const tab = (state: RowState | undefined, label: string, count: number): VNode =>
    h(
      'button',
      {
        type: 'button',
        class: 'tab',
        'data-state': state,
        'aria-pressed': String(filter.state === state),
        onclick: () => actions.filter({ state }),
      },
      h('span', {}, label),
      h('b', {}, format.count(count)),
    );
  const from = page.page * PAGE_ROWS;
  const first = page.total === 0 ? 0 : from + 1;
  return h(
    'section',
    { class: 'rows panel', part: 'rows panel', 'aria-labelledby': 'rows' },
    h('h3', { id: 'rows', tabindex: -1 }, words.rows),
    h(
      'div',
      { class: 'tabs', role: 'group', 'aria-label': words.filterState },
      tab(undefined, words.all, waitingOf(snapshot)),
      STATES.map((state) => tab(state, words.states[state], counts[state])),
    ),
    h(
      'div',
      { class: 'find' },
      h('input', {
        type: 'search',
        'aria-label': words.search,
        placeholder: words.search,
        oninput: ({ target }) => {
          if (target instanceof HTMLInputElement) actions.filter({ text: target.value });
        },
      }),
      families.length > 1 &&
        h(
          'select',
          {
            'aria-label': words.filterFamily,
            value: filter.family ?? '',
            onchange: ({ target }) => {
              if (target instanceof HTMLSelectElement) actions.filter({ family: target.value || undefined });
            },
          },
          h('option', { value: '' }, words.allFamilies),
          families.map((family) => h('option', { key: family, value: family }, family)),
        ),
    ),
    page.total === 0
      ? h('p', { class: 'empty' }, snapshot.rows.length === 0 ? words.noRows : words.noMatch)
      : h(
          'ol',
          { role: 'list', class: 'list' },
          page.rows.map((row) => model.rowPart?.viewRow(model, row, actions)),
        ),
    page.pages > 1 &&
      h(
        'nav',
        { class: 'pages', 'aria-labelledby': 'rows' },
        h(
          'button',
          {
            type: 'button',
            'aria-label': words.previous,
            ...off(page.page === 0),
            onclick: () => actions.turnTo(page.page - 1),
          },
          icon('left'),
        ),
        h('span', {}, words.shown(first, from + page.rows.length, page.total)),
        h(
          'button',
          {
            type: 'button',
            'aria-label': words.next,
            ...off(page.page === page.pages - 1),
            onclick: () => actions.turnTo(page.page + 1),
          },
          icon('right'),
        ),
      ),
  );
}

function viewPanels(model: Model, actions: Actions): readonly Child[] {
  const { words, format, snapshot, outcomes, now } = model;
  const { storage, triggers, host, connection, oldestWaitingAt, wakeAt, stoppedBy } = snapshot;
  const { usage, quota, isPersisted, mirrorSetAside, reserveGone } = storage;
  const fact = (name: string, value: string | undefined) => ({ name, value: value ?? words.none });
  const lamp = (isOn: boolean, name: string, value: string): VNode =>
    h(
      'li',
      { 'data-on': String(isOn) },
      h('span', {}, name),
      value !== '' && h('span', { class: 'soft' }, value),
    );
  const { sync } = triggers;
  return [
    panel(
      words.engine,
      facts([
        fact(words.host, words.hosts[host]),
        fact(words.connection, connection === 'online' ? words.online : words.isOffline),
        fact(words.oldest, oldestWaitingAt === undefined ? undefined : format.ago(oldestWaitingAt)),
        ...(wakeAt === undefined || wakeAt <= now ? [] : [fact(words.wakesNext, format.time(wakeAt))]),
        ...(stoppedBy === undefined ? [] : [fact(words.lastStop, words.stops[stoppedBy] ?? stoppedBy)]),
      ]),
    ),
    panel(
      words.triggers,
      h(
        'ul',
        { role: 'list', class: 'lamps' },
        lamp(true, words.thisPage, ''),
        lamp(sync !== 'missing' && sync !== 'refused', words.backgroundSync, words.syncs[sync]),
        lamp(
          triggers.periodicSync,
          words.periodicSync,
          triggers.periodicSync ? words.granted : words.notGranted,
        ),
      ),
    ),
    panel(
      words.storage,
      facts([
        fact(words.mode, words.modes[storage.mode]),
        fact(
          words.used,
          usage === undefined || quota === undefined
            ? undefined
            : words.usedOf(format.bytes(usage), format.bytes(quota)),
        ),
        fact(
          words.kept,
          isPersisted === undefined ? undefined : isPersisted ? words.persisted : words.notPersisted,
        ),
        fact(
          words.mirror,
          mirrorSetAside === undefined ? undefined : mirrorSetAside ? words.mirrorOff : words.mirrorOn,
        ),
        fact(
          words.reserve,
          reserveGone === undefined ? undefined : reserveGone ? words.reserveGone : words.reserveHeld,
        ),
      ]),
      isPersisted === false && button(words.persist, actions.persist, { class: 'quiet' }),
    ),
    panel(
      words.outcomes,
      outcomes.length === 0
        ? h('p', { class: 'soft' }, words.noOutcomes)
        : h(
            'ol',
            { role: 'list', class: 'outcomes' },
            outcomes.map((entry) => viewOutcome(model, entry)),
          ),
    ),
  ];
}

function viewOutcome({ words, format }: Model, { n, at, outcome }: JournalEntry): VNode {
  const { row, type } = outcome;
  return h(
    'li',
    { key: String(n), 'data-type': type },
    h('b', {}, words.outcomeTypes[type] ?? type),
    h('span', { class: 'soft' }, format.ago(at)),
    h(
      'span',
      {},
      `${words.kinds[row.kind]} ${row.family} `,
      h('code', {}, shortId(row.target.type === 'id' ? row.target.id : row.id)),
      'code' in outcome && ` · ${outcome.code}`,
    ),
  );
}
