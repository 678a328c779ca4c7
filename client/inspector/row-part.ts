/**
 * What is shown and done about single rows: how each stands, why one is blocked and its ways out, and all that is known
 * of one that a person has opened. A chunk of its own, since an outbox where nothing waits needs none of it.
 */
import { blockedReason } from '../../shared/blocked-code.ts';
import type { ViewRow } from '../../shared/protocol.ts';
import type { Explanation } from '../add-words.ts';
import { toText } from './as-json.ts';
import { claimOf, reasonOf, rowFacts } from './explain-row.ts';
import type { Detail, RowPart } from './model.ts';
import { createRowActions, type RowActions, type Screen } from './row-actions.ts';
import { ROW_STYLES } from './row-styles.ts';
import { ROW_ENGLISH } from './row-words.ts';
import { button, CLOSED, facts, off, rowId, shortId } from './view-parts.ts';
import { type RowModel, viewRow } from './view-row.ts';
import { type Child, h, type VNode } from './vnode.ts';
import type { InspectorWords, ScreenWords } from './words.ts';

export { ROW_STYLES };

/** `given`: texts in place of the English ones. */
export function createRowPart(
  screen: Screen,
  screenWords: ScreenWords,
  given: Partial<InspectorWords>,
): RowPart {
  const words = { ...screenWords, ...ROW_ENGLISH, ...given };
  const rowActions = createRowActions(screen, words);
  return {
    viewRow(model, row, actions) {
      const own = { ...model, words, rowActions };
      return viewRow(own, row, actions, viewMore(own, row));
    },
    toText,
  };
}

interface ActiveModel extends RowModel {
  readonly rowActions: RowActions;
}

function viewMore(model: ActiveModel, row: ViewRow): readonly Child[] {
  const { words, details } = model;
  const detail = details.get(row.origin) ?? CLOSED;
  const isBlocked = row.state === 'blocked';
  const sentences = [
    ...(isBlocked ? [blockedReason(row.blockedCode ?? '').sentence] : []),
    ...(isBlocked && row.doubt ? [words.doubt] : []),
    ...(row.overtakenBy === undefined ? [] : [words.overtaken]),
  ];
  return [
    sentences.length > 0 && h('p', {}, sentences.join(' ')),
    viewWaysOut(model, row, detail),
    detail.isOpen && viewDetail(model, row, detail),
  ];
}

function viewWaysOut(model: ActiveModel, row: ViewRow, detail: Detail): Child {
  const { words, rowActions: actions, links } = model;
  const { asking, isBusy = false } = detail;
  // Ever the same words: the row's title tells a screen reader which one they are about.
  const about = { 'aria-describedby': rowId(row.origin), ...off(isBusy) };
  if (asking === 'edit') return viewEditor(model, row, detail);
  if (asking !== undefined) {
    const lost = links.lostWith(row).length;
    return h(
      'div',
      { key: asking, class: 'ask', role: 'group', 'aria-labelledby': `ask-${row.origin}` },
      h('p', { id: `ask-${row.origin}` }, words.sure, lost > 0 && ` ${words.goesAlong(lost)}`),
      button(words[asking], () => actions[asking](row), { ...about, class: 'danger solid' }),
      button(words.keep, () => actions.ask(row, undefined), { 'data-focus': 'ask' }),
    );
  }
  const ways: readonly string[] = row.state === 'blocked' ? blockedReason(row.blockedCode ?? '').waysOut : [];
  const again = row.overtakenBy === undefined ? words.retry : words.overwrite;
  // R34: an edited copy of what the server may have is refused; R35: so is withdrawing it.
  const canEdit = ways.includes('recover') && !row.doubt && row.bodyId !== undefined;
  const canCancel = detail.isOpen && (row.state === 'queued' || row.state === 'held') && !row.doubt;
  if (ways.length === 0 && !canCancel) return false;
  return h(
    'div',
    { key: 'ways', class: 'buttons' },
    ways.includes('retry') && button(again, () => actions.retry(row), about),
    canEdit && button(words.recover, () => actions.ask(row, 'edit'), about),
    ways.includes('discard') &&
      button(words.discard, () => actions.ask(row, 'discard'), { ...about, class: 'danger' }),
    canCancel && button(words.cancel, () => actions.ask(row, 'cancel'), { ...about, class: 'danger' }),
  );
}

function viewEditor({ words, rowActions: actions }: ActiveModel, row: ViewRow, detail: Detail): Child {
  const { body, problem, isBusy = false } = detail;
  const id = `edit-${row.origin}`;
  if (body === undefined) return false;
  if (body !== 'none' && !body.isJson)
    return h(
      'div',
      { key: 'no-edit', class: 'ask' },
      h('p', {}, words.notEditable),
      button(words.back, () => actions.ask(row, undefined), { 'data-focus': 'ask' }),
    );
  const revision = row.conflict?.actual ?? row.expectedRevision;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement) || isBusy) return;
    const entered = new FormData(event.currentTarget);
    actions.recover(row, String(entered.get('body')), String(entered.get('revision') ?? ''));
  };
  return h(
    'form',
    { key: 'edit', class: 'ask', onsubmit: submit },
    h('label', { for: id }, words.edit),
    h('textarea', {
      id,
      name: 'body',
      rows: 8,
      spellcheck: 'false',
      'data-focus': 'ask',
      'aria-invalid': problem === undefined ? undefined : 'true',
      'aria-describedby': problem === undefined ? undefined : `${id}-problem`,
      value: body === 'none' ? '' : body.text,
    }),
    problem !== undefined && h('p', { id: `${id}-problem`, class: 'problem' }, problem),
    revision !== undefined && h('label', { for: `${id}-revision` }, words.revision),
    revision !== undefined &&
      h('input', {
        id: `${id}-revision`,
        name: 'revision',
        inputmode: 'numeric',
        pattern: '[0-9]*',
        value: String(revision),
      }),
    h('button', { part: 'button', class: 'solid', ...off(isBusy) }, h('span', {}, words.send)),
    button(words.back, () => actions.ask(row, undefined)),
  );
}

function viewDetail(model: ActiveModel, row: ViewRow, { explained, body }: Detail): VNode {
  const { words, rowActions: actions } = model;
  const content =
    body === undefined
      ? row.bodyId !== undefined && button(words.content, () => actions.showBody(row), { class: 'quiet' })
      : h('pre', { tabindex: 0 }, body === 'none' ? words.noContent : body.text);
  return h(
    'div',
    { key: 'detail', class: 'detail', part: 'detail', role: 'group', 'aria-labelledby': rowId(row.origin) },
    explained === 'gone' && h('p', {}, words.gone),
    typeof explained === 'object' && viewExplained(model, explained),
    content,
  );
}

function viewExplained(model: ActiveModel, { row, reason, wakes }: Explanation): VNode {
  const { words, format, now } = model;
  const attempts = row.evidence.attempts ?? [];
  const claim = claimOf(row, words, format, now);
  const section = (title: string, ...content: readonly Child[]): VNode =>
    h('section', {}, h('h5', {}, title), ...content);
  const woken = wakes.map((wake) => words.wakes[wake] ?? wake).join(', ');
  return h(
    'div',
    { class: 'explained' },
    section(
      words.why,
      h('p', {}, reasonOf(reason, words, format)),
      woken !== '' && h('p', { class: 'soft' }, `${words.wokenBy}: ${woken}`),
    ),
    section(words.claim, claim.length > 0 ? facts(claim) : h('p', {}, words.neverClaimed)),
    section(
      words.attempts,
      attempts.length === 0
        ? h('p', {}, words.noAttempts)
        : h(
            'ol',
            { class: 'attempts', role: 'list' },
            attempts
              .toReversed()
              .map(({ at, end, code, host, fence }) =>
                h(
                  'li',
                  { key: `${at} ${fence}` },
                  h('b', {}, format.time(at)),
                  h('span', {}, words.ends[end] ?? end),
                  code !== undefined && h('code', {}, code),
                  h('span', { class: 'soft' }, words.by(shortId(host), fence)),
                ),
              ),
          ),
    ),
    section(words.facts, facts(rowFacts(row, words, format))),
  );
}
