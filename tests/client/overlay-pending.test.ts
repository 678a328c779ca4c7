import { describe, expect, it } from 'vitest';
import { type OverlayOptions, overlayPending } from '../../client/overlay-pending.ts';
import type { ViewRow } from '../../shared/protocol.ts';
import { toViewRow } from '../../shared/view-row.ts';
import { rowFixture } from '../support/row-fixture.ts';

interface Workout {
  readonly id: string;
  readonly kg?: number;
  readonly note?: string;
}

let seq = 0;
const row = (over: Parameters<typeof rowFixture>[0], view: Partial<ViewRow> = {}): ViewRow => ({
  ...toViewRow(rowFixture({ seq: ++seq, ...over })),
  ...view,
});
const on = (id: string) => ({ type: 'id', id }) as const;

const overlay = (over: Partial<OverlayOptions<Workout>>) =>
  overlayPending<Workout>({
    family: 'workout',
    items: [
      { id: 'w1', kg: 60 },
      { id: 'w2', kg: 70 },
    ],
    rows: [],
    bodies: [],
    idOf: ({ id }) => id,
    ...over,
  });

describe('what the person sees', () => {
  it('[C20, D43] is what the server said where nothing waits, the very same objects', () => {
    const items = [{ id: 'w1', kg: 60 }];
    const [only] = overlay({ items });
    expect(only).toEqual({ item: items[0], key: 'w1', target: on('w1'), rows: [], state: 'saved' });
    expect(only?.item).toBe(items[0]);
  });

  it('[C20] changes lie over it in their order, and what the server said stays as it was', () => {
    const items = [{ id: 'w1', kg: 60 }];
    const rows = [
      row({ id: 'u1', target: on('w1') }),
      row({ id: 'u2', target: on('w1') }, { state: 'sending' }),
    ];
    const bodies = [
      { id: 'u1', body: { kg: 80, note: 'a' } },
      { id: 'u2', body: { note: 'b' } },
    ];
    expect(overlay({ items, rows, bodies })).toEqual([
      { item: { id: 'w1', kg: 80, note: 'b' }, key: 'w1', target: on('w1'), rows, state: 'sending' },
    ]);
    expect(items).toEqual([{ id: 'w1', kg: 60 }]);
  });

  it('[C20] deletes hide, and a refused one does not', () => {
    const waiting = row({ id: 'd1', kind: 'delete', target: on('w1') });
    const refused = row({ id: 'd2', kind: 'delete', target: on('w2') }, { state: 'blocked' });
    expect(overlay({ rows: [waiting, refused] })).toMatchObject([
      { key: 'w2', state: 'blocked', item: { kg: 70 } },
    ]);
  });

  it('[C20] creations are added behind, with the changes made to them since', () => {
    const pending = { type: 'pending', origin: 'c1' } as const;
    const rows = [
      row({ id: 'c1', kind: 'create', target: pending }),
      row({ id: 'i1', origin: 'i1', kind: 'update', target: pending, successorOf: 'c1' }),
    ];
    const bodies = [
      { id: 'c1', body: { kg: 50 } },
      { id: 'i1', body: { note: 'new' } },
    ];
    expect(overlay({ items: [], rows, bodies })).toMatchObject([
      { item: { kg: 50, note: 'new' }, key: 'c1', target: pending, state: 'queued' },
    ]);
    const gone = row({ id: 'x1', kind: 'delete', target: pending, successorOf: 'c1' });
    expect(overlay({ items: [], rows: [...rows, gone], bodies })).toEqual([]);
  });

  it('[C20] a creation keeps its key when its own id changes', () => {
    const rows = [row({ id: 'c2', origin: 'c1', kind: 'create', target: { type: 'pending', origin: 'c1' } })];
    expect(overlay({ items: [], rows, bodies: [{ id: 'c2', body: { kg: 1 } }] })[0]?.key).toBe('c1');
  });

  it('[A65] a refused change is seen and marked, not shown as saved', () => {
    const rows = [row({ id: 'u1', target: on('w1') }, { state: 'blocked', blockedCode: 'rejected' })];
    const [first] = overlay({ rows, bodies: [{ id: 'u1', body: { kg: 99 } }] });
    expect(first).toMatchObject({ item: { kg: 99 }, state: 'blocked' });
  });

  it('[C33] a refused change that a later one has overtaken shows no older values', () => {
    const rows = [
      row({ id: 'u1', target: on('w1') }, { state: 'blocked', overtakenBy: 'u2' }),
      row({ id: 'u2', target: on('w1') }),
    ];
    const bodies = [
      { id: 'u1', body: { kg: 1, note: 'old' } },
      { id: 'u2', body: { kg: 2 } },
    ];
    expect(overlay({ rows, bodies })[0]?.item).toEqual({ id: 'w1', kg: 2 });
  });

  it('[C20] documents: put is there whether or not the server has it, remove is not', () => {
    const rows = [
      row({ id: 'p1', kind: 'put', target: on('new') }),
      row({ id: 'r1', kind: 'remove', target: on('w1') }),
    ];
    const shown = overlay({ rows, bodies: [{ id: 'p1', body: { id: 'new', kg: 5 } }] });
    expect(shown.map(({ key }) => key)).toEqual(['w2', 'new']);
  });

  it('[C20] a payload that is not there yet changes no content, and an update of nothing shows nothing', () => {
    const rows = [row({ id: 'u1', target: on('w1') }), row({ id: 'u9', target: on('elsewhere') })];
    expect(overlay({ rows, bodies: [{ id: 'u9', body: { kg: 1 } }] })).toMatchObject([
      { item: { kg: 60 }, state: 'queued' },
      { key: 'w2' },
    ]);
  });

  it('[R5] an id that looks like an origin, or like anything else, is only itself', () => {
    const pending = { type: 'pending', origin: 'w1' } as const;
    const rows = [row({ id: 'w1', kind: 'create', target: pending })];
    const shown = overlay({
      items: [{ id: 'w1', kg: 60 }, { id: '__proto__' }],
      rows,
      bodies: [{ id: 'w1', body: { kg: 1 } }],
    });
    expect(shown.map(({ item, state }) => [item.kg, state])).toEqual([
      [60, 'saved'],
      [undefined, 'saved'],
      [1, 'queued'],
    ]);
  });

  it('[C17] rows of other families are passed over, and an app may fold in its own way', () => {
    const rows = [row({ id: 'x', family: 'plan', target: on('w1') }), row({ id: 'u1', target: on('w1') })];
    const shown = overlay({
      rows,
      bodies: [{ id: 'u1', body: 10 }],
      apply: (item, body) => item && { ...item, kg: (item.kg ?? 0) + Number(body) },
    });
    expect(shown[0]?.item.kg).toBe(70);
  });
});
