/** A row in the list: what it is, how it stands, and what it waits for. */
import type { ViewRow } from '../../shared/protocol.ts';
import { factsOf, titleOf } from './describe-row.ts';
import type { Actions, Model } from './model.ts';
import type { RowWords } from './row-words.ts';
import { CLOSED, type IconName, icon, rowId, shortId } from './view-parts.ts';
import { type Child, h, type VNode } from './vnode.ts';
import type { ScreenWords } from './words.ts';

const ICONS = { queued: 'clock', sending: 'send', held: 'lock', blocked: 'alert' } as const satisfies Record<
  ViewRow['state'],
  IconName
>;

export interface RowModel extends Model {
  readonly words: ScreenWords & RowWords;
}

/** `more`: what stands below, by the row's state and by what is open. */
export function viewRow(model: RowModel, row: ViewRow, actions: Actions, more: readonly Child[]): VNode {
  const { words, format, details, links, nameOf } = model;
  const { isOpen } = details.get(row.origin) ?? CLOSED;
  const { title, target } = titleOf(row, words);
  const behind = links.behind(row).length;
  return h(
    'li',
    { key: row.origin, class: 'row', part: 'row', 'data-state': row.state },
    h(
      'div',
      { class: 'row-head' },
      h(
        'h4',
        {},
        h(
          'button',
          {
            type: 'button',
            class: 'toggle',
            id: rowId(row.origin),
            'aria-expanded': String(isOpen),
            onclick: () => actions.toggle(row),
          },
          icon('right'),
          h('span', {}, h('b', {}, nameOf?.(row) ?? title), h('code', {}, target)),
        ),
      ),
      h('span', { class: 'badge', part: 'badge' }, icon(ICONS[row.state]), words.states[row.state]),
    ),
    h(
      'p',
      { class: 'soft' },
      [...factsOf(row, words, format), ...(behind > 0 ? [words.behind(behind)] : [])].join(' · '),
    ),
    viewLinks(model, row, actions),
    more,
  );
}

function viewLinks({ words, links }: RowModel, row: ViewRow, actions: Actions): Child {
  const origins = links.waitsFor(row);
  if (origins.length === 0) return false;
  return h(
    'p',
    { class: 'links' },
    icon('link'),
    h('span', {}, words.waitsFor),
    origins.map((origin) => {
      const other = links.row(origin);
      if (!other) return h('span', { key: origin }, `${words.goneRow} (${shortId(origin)})`);
      const { title, target } = titleOf(other, words);
      return h(
        'button',
        { key: origin, type: 'button', class: 'link', onclick: () => actions.goTo(origin) },
        `${title} `,
        h('code', {}, target),
      );
    }),
  );
}
