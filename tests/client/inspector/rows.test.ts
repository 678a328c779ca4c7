import { describe, expect, it } from 'vitest';
import {
  familiesOf,
  filterRows,
  linkRows,
  NO_FILTER,
  PAGE_ROWS,
  pageOf,
} from '../../../client/inspector/rows.ts';
import { viewRow } from '../../support/view-fixture.ts';

const pending = (origin: string) => ({ type: 'pending', origin }) as const;

describe('the inspector’s list', () => {
  const rows = [
    viewRow('a1', { state: 'queued', tags: ['2026-11-30'] }),
    viewRow('b2', { state: 'blocked', blockedCode: 'rejected', family: 'plan' }),
    viewRow('c3', { state: 'sending', evidence: { attemptCount: 2, lastErrorCode: 'http_503' } }),
  ];
  const idsOf = (filter: Partial<typeof NO_FILTER>) =>
    filterRows(rows, { ...NO_FILTER, ...filter }).map(({ id }) => id);

  it('[W50] is the view’s own array where nothing is filtered', () => {
    expect(filterRows(rows, NO_FILTER)).toBe(rows);
    expect(filterRows(rows, { ...NO_FILTER, text: '  ' })).toBe(rows);
  });

  it.each([
    { by: 'state', filter: { state: 'blocked' }, ids: ['b2'] },
    { by: 'family', filter: { family: 'workout' }, ids: ['a1', 'c3'] },
    { by: 'both', filter: { state: 'queued', family: 'plan' }, ids: [] },
    { by: 'id', filter: { text: 'A1' }, ids: ['a1'] },
    { by: 'target', filter: { text: 'w-c' }, ids: ['c3'] },
    { by: 'tag', filter: { text: '11-30' }, ids: ['a1'] },
    { by: 'blocked code', filter: { text: 'rejec' }, ids: ['b2'] },
    { by: 'last error', filter: { text: '503' }, ids: ['c3'] },
  ] as const)('[W50] is filtered by $by', ({ filter, ids }) => {
    expect(idsOf(filter)).toEqual(ids);
  });

  it('[W50] names each family once', () => {
    expect(familiesOf(rows)).toEqual(['plan', 'workout']);
  });

  it('[W50] shows a page, of 10,000 rows too, and the last one where there are fewer by now', () => {
    const many = Array.from({ length: 10_000 }, (_, n) => viewRow(`r${n}`, { seq: n }));
    expect(pageOf(many, 0)).toMatchObject({ page: 0, pages: 10_000 / PAGE_ROWS, total: 10_000 });
    expect(pageOf(many, 7).rows.map(({ seq }) => seq)).toEqual(
      Array.from({ length: PAGE_ROWS }, (_, n) => 7 * PAGE_ROWS + n),
    );
    expect(pageOf(many.slice(0, PAGE_ROWS + 1), 99)).toMatchObject({ page: 1, rows: [{ seq: PAGE_ROWS }] });
    expect(pageOf([], 3)).toEqual({ rows: [], page: 0, pages: 1, total: 0 });
  });
});

describe('what waits for what', () => {
  const create = viewRow('c', { kind: 'create', target: pending('c') });
  const update = viewRow('u', { kind: 'update', target: pending('c'), successorOf: 'c' });
  const child = viewRow('k', { kind: 'create', target: pending('k'), after: ['c', 'x'] });
  const grandchild = viewRow('g', { kind: 'update', target: pending('k') });
  const first = viewRow('d1', { target: { type: 'id', id: 'd' } });
  const second = viewRow('d2', { target: { type: 'id', id: 'd' }, successorOf: 'd1' });
  const rows = [create, update, child, grandchild, first, second];
  const links = linkRows(rows);

  it.each([
    { what: 'a creation waits for nothing', row: create, origins: [] },
    { what: 'an edit waits for its creation, once', row: update, origins: ['c'] },
    { what: 'a dependant waits for all it names, gone ones too', row: child, origins: ['c', 'x'] },
    { what: 'a successor waits for the row before it', row: second, origins: ['d1'] },
  ])('[W50, W60] $what', ({ row, origins }) => {
    expect(links.waitsFor(row)).toEqual(origins);
  });

  it('[W50] is known from the other side', () => {
    expect(links.behind(create)).toEqual([update, child]);
    expect(links.behind(first)).toEqual([second]);
    expect(links.row('k')).toBe(child);
    expect(links.row('x')).toBeUndefined();
  });

  it('[W50, R35] says what goes along when a row is given up: not what could be sent without it', () => {
    expect(links.lostWith(create)).toEqual([update, child, grandchild]);
    expect(links.lostWith(first)).toEqual([]);
  });

  it('[W50] ends where rows name each other', () => {
    const a = viewRow('a', { after: ['b'] });
    const b = viewRow('b', { after: ['a'] });
    expect(linkRows([a, b]).lostWith(a)).toEqual([b]);
  });
});
