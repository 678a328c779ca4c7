/** The small pieces that the views share. */
import type { ViewRow } from '../../shared/protocol.ts';
import type { Detail } from './model.ts';
import { type Children, h, type Props, type VNode } from './vnode.ts';

const PATHS = {
  check: 'M5 12.5l4.5 4.5L19 7.5',
  send: 'M12 19V5M6 11l6-6 6 6',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3.5 2',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  alert: 'M12 4l9 16H3zM12 10v4.5M12 17.2v.3',
  pause: 'M9 5v14M15 5v14',
  play: 'M8 5l11 7-11 7z',
  save: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  right: 'M9.5 5.5L16 12l-6.5 6.5',
  left: 'M14.5 5.5L8 12l6.5 6.5',
  link: 'M5 4v9a4 4 0 0 0 4 4h10M15 13l4 4-4 4',
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative: the words beside it say the same. */
export const icon = (name: IconName): VNode =>
  h('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, h('path', { d: PATHS[name] }));

export function button(label: string, onclick: () => void, props: Props = {}, name?: IconName): VNode {
  const isOff = props['aria-disabled'] === 'true';
  // `aria-disabled` rather than `disabled`, which would throw the focus out of the page.
  return h(
    'button',
    { type: 'button', part: 'button', ...props, onclick: () => !isOff && onclick() },
    name && icon(name),
    h('span', {}, label),
  );
}

export const off = (isOff: boolean): Props => ({ 'aria-disabled': isOff ? 'true' : undefined });

/** A name and what it is; `isCode`: to be copied rather than read. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  readonly isCode?: boolean;
}

export const facts = (list: readonly Fact[]): VNode =>
  h(
    'dl',
    {},
    list.map(({ name, value, isCode }) =>
      h('div', { key: name }, h('dt', {}, name), h('dd', {}, isCode ? h('code', {}, value) : value)),
    ),
  );

export const panel = (title: string, ...content: readonly Children[]): VNode =>
  h('section', { class: 'panel', part: 'panel' }, h('h3', {}, title), ...content);

/** The id that the server knows, or the origin of the creation that has none yet. */
export const targetOf = ({ target }: Pick<ViewRow, 'target'>): string =>
  target.type === 'id' ? target.id : target.origin;

/** Enough of an id to tell it from its neighbours. */
export const shortId = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…` : id);

export const rowId = (origin: string): string => `row-${origin}`;

export const CLOSED: Detail = { isOpen: false };
