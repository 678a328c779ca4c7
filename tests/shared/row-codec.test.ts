import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Row } from '../../shared/row.ts';
import { changedIdentity, decodeRow, encodeRow, mergeRow } from '../../shared/row-codec.ts';
import { sameContent } from '../../sw/outbox/same-row.ts';
import { rowFixture } from '../support/row-fixture.ts';

const FULL: Row = {
  ...rowFixture(),
  sourceRef: 'day 1',
  tags: ['2026-11-30'],
  replaces: ['r'],
  after: ['o'],
  urgent: true,
  expiresAt: 9,
  sentAt: 1,
  deferredAt: 2,
  heldAt: 3,
  blockedAt: 4,
  blockedCode: 'rejected',
  claim: { host: 'h', expiresAt: 5, fence: 2 },
  successorOf: 's',
  evidence: { attemptCount: 1, lastAttemptAt: 1, lastErrorCode: 'x', attempts: [] },
  notBefore: { at: 6, by: 'server' },
  receipt: {
    id: 'i',
    requestHash: 'h',
    kind: 'workout.update',
    target: 'w1',
    revision: 2,
    generation: 1,
    committedAt: '2026-11-30T00:00:00Z',
    replayed: true,
  },
  overtakenBy: 'v',
  conflict: { originalId: 'c', expected: 1, actual: 2, at: 7, rounds: 1 },
  recovery: { source: 'ledger', at: 8, generation: 3, proof: 'agreed' },
  noticed: true,
  orphanedAt: 10,
  writer: { release: 'r', at: 11 },
};

const NESTED = ['claim', 'evidence', 'notBefore', 'receipt', 'conflict', 'recovery', 'writer'] as const;
const REQUIRED = [
  'format',
  'id',
  'origin',
  'seq',
  'owner',
  'family',
  'kind',
  'target',
  'savedAt',
  'requestHash',
  'state',
] as const;

describe('decoding', () => {
  it('[R1, R2] reads a row with every field, and one with only what it must have', () => {
    expect(decodeRow(FULL)).toEqual({ type: 'row', row: FULL });
    const least = Object.fromEntries(
      Object.entries(rowFixture()).filter(([name]) =>
        [...REQUIRED, 'evidence', 'version'].some((one) => one === name),
      ),
    );
    expect(decodeRow(least)).toEqual({ type: 'row', row: least });
  });

  it('[R2, C3] a row of an older writer may lack evidence and version', () => {
    const { evidence, version, ...older } = rowFixture();
    expect(decodeRow(older)).toEqual({
      type: 'row',
      row: { ...older, evidence: { attemptCount: 0 }, version: 0 },
    });
  });

  it.each(REQUIRED)('[R3] does not read as a row without %s', (name) => {
    expect(decodeRow({ ...FULL, [name]: undefined })).toEqual({ type: 'unreadable', reason: name });
  });

  it.each([...NESTED, 'tags', 'doubt', 'sentAt', 'bodyId', 'successorOf'])(
    '[R3] does not read as a row when %s is of another type, and says so',
    (name) => {
      expect(decodeRow({ ...FULL, [name]: 7n })).toEqual({ type: 'unreadable', reason: name });
    },
  );

  it.each([undefined, null, 'rubble', 7, [], [FULL], { ...FULL, format: 2 }, { ...FULL, id: '' }])(
    '[R3] reports what is no row at all: %j',
    (value) => {
      expect(decodeRow(value).type).toBe('unreadable');
    },
  );

  it('[R2] words that a newer release added to a nested record do not make its rows unreadable', () => {
    const newer = {
      ...FULL,
      blockedCode: 'moonphase',
      recovery: { source: 'tape', at: 1, generation: 1, proof: 'sworn' },
      notBefore: { at: 1, by: 'moon' },
    };
    expect(decodeRow(newer)).toEqual({ type: 'row', row: newer });
  });

  it('[R5] takes any non-empty string for an identifier', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), (word) => {
        const row = rowFixture({ owner: word, family: word, target: { type: 'id', id: word } });
        expect(decodeRow(row)).toEqual({ type: 'row', row });
      }),
    );
  });
});

describe('encoding', () => {
  it('[R2] leaves out fields that are undefined, nested ones too, and nothing else', () => {
    const row = {
      ...rowFixture(),
      notBefore: undefined,
      mood: undefined,
      evidence: { attemptCount: 1, lastErrorCode: undefined },
    };
    const encoded = encodeRow(row);
    expect(Object.keys(encoded)).not.toContain('notBefore');
    expect(Object.keys(encoded.evidence)).toEqual(['attemptCount']);
    expect(encoded).toEqual(rowFixture({ evidence: { attemptCount: 1 } }));
  });
});

describe('a write over a stored row', () => {
  it.each(NESTED)('[R2] keeps what it does not know inside %s', (name) => {
    const stored = { ...FULL, [name]: { ...FULL[name], colour: { of: 'money' } } };
    const merged = mergeRow(stored, FULL);
    expect(merged[name]).toEqual({ ...FULL[name], colour: { of: 'money' } });
  });

  it('[R2] a known field that the draft leaves out is gone, with what stood inside it', () => {
    const stored = { ...FULL, claim: { host: 'h', expiresAt: 1, fence: 1, colour: 'red' } };
    const { claim, ...draft } = FULL;
    expect(mergeRow(stored, draft)).not.toHaveProperty('claim');
    expect(mergeRow(stored, { ...FULL, claim: undefined })).not.toHaveProperty('claim');
  });

  it('[R2] an unknown field is the draft’s where it names it', () => {
    expect(mergeRow({ ...FULL, ...{ mood: 'good' } }, { ...FULL, ...{ mood: 'bad' } })).toMatchObject({
      mood: 'bad',
    });
  });

  it('[R2] whatever a newer release added survives a write by this one', () => {
    const unknown = fc.dictionary(
      fc.string({ minLength: 1 }).map((name) => `x${name}`),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(unknown, unknown, (top, inside) => {
        const stored = { ...FULL, ...top, evidence: { ...FULL.evidence, ...inside } };
        const merged = mergeRow(stored, { ...FULL, state: 'held', evidence: { attemptCount: 2 } });
        expect(merged).toMatchObject({ ...top, state: 'held', evidence: { attemptCount: 2, ...inside } });
      }),
    );
  });
});

describe('identity', () => {
  it.each([
    { change: {}, field: undefined },
    { change: { state: 'blocked', noticed: false }, field: undefined },
    { change: { savedAt: 2 }, field: 'savedAt' },
    { change: { target: { type: 'id', id: 'w2' } }, field: 'target' },
    { change: { sourceRef: undefined }, field: 'sourceRef' },
    { change: { tags: ['2026-11-30', 'more'] }, field: 'tags' },
  ] satisfies readonly { change: Partial<Row>; field: string | undefined }[])(
    '[R2] $change changes $field',
    ({ change, field }) => {
      expect(changedIdentity(FULL, { ...FULL, ...change }, sameContent)).toBe(field);
    },
  );
});
