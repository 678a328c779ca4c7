import { describe, expect, it } from 'vitest';
import { addWords } from '../../../client/add-words.ts';
import { toText } from '../../../client/inspector/as-json.ts';
import { factsOf, titleOf } from '../../../client/inspector/describe-row.ts';
import { claimOf, reasonOf, rowFacts } from '../../../client/inspector/explain-row.ts';
import { createFormat } from '../../../client/inspector/format.ts';
import { ROW_ENGLISH } from '../../../client/inspector/row-words.ts';
import { judge } from '../../../client/inspector/verdict.ts';
import { ENGLISH } from '../../../client/inspector/words.ts';
import { isJson } from '../../../client/is-json.ts';
import type { ViewSnapshot } from '../../../client/view-snapshot.ts';
import type { ExplainedRow } from '../../../shared/answers.ts';
import { NO_COUNTS } from '../../support/fake-engine.ts';
import { rowFixture } from '../../support/row-fixture.ts';
import { snapshotFixture, viewRow } from '../../support/view-fixture.ts';

const NOW = Date.UTC(2026, 11, 1, 12, 0, 0);
const words = { ...ENGLISH, ...ROW_ENGLISH };
const format = createFormat('en-GB')(NOW);
/** Spaces of several kinds are all one to a reader. */
const plain = (text: string): string => text.replaceAll(/\s/g, ' ');

describe('the verdict', () => {
  const counts = (part: Partial<typeof NO_COUNTS>) => ({ ...NO_COUNTS, ...part });
  const cases: readonly (readonly [Partial<ViewSnapshot>, string, string])[] = [
    [{ owner: undefined }, 'held', 'Nobody is signed in'],
    [
      { storage: { mode: 'no_database' }, isReady: false },
      'bad',
      'The storage of this device cannot be opened',
    ],
    [{ storage: { mode: 'read_only' } }, 'bad', 'Shown from a second copy'],
    [{ storage: { mode: 'full' }, counts: counts({ queued: 1 }) }, 'bad', 'This device has no room left'],
    [{ isReady: false }, 'busy', 'Reading what is on this device…'],
    [
      { stoppedBy: 'paused', stuckSince: 1, counts: counts({ queued: 2 }) },
      'held',
      'Paused, 2 changes waiting',
    ],
    [{ stuckSince: NOW - 60_000, counts: counts({ blocked: 1 }) }, 'bad', 'No progress'],
    [{ counts: counts({ blocked: 1, queued: 3 }) }, 'bad', '1 change needs you'],
    [{ counts: counts({ blocked: 2 }) }, 'bad', '2 changes need you'],
    [{ counts: counts({ held: 1_200 }) }, 'held', '1,200 changes held until sign-in'],
    [{ progress: { running: true, done: 11, total: 40 }, connection: 'offline' }, 'busy', 'Sending 12 of 40'],
    [{ progress: { running: true, done: 40, total: 40 } }, 'busy', 'Sending 40 of 40'],
    [{ connection: 'offline', counts: counts({ queued: 1 }) }, 'waits', 'No connection, 1 change waiting'],
    [{ connection: 'offline' }, 'waits', 'No connection'],
    [{ counts: counts({ queued: 2, sending: 1 }) }, 'waits', '3 changes waiting'],
    [{}, 'good', 'Everything is with the server'],
  ];

  it.each(cases)('[W50, W19] of %j is %s: %s', (overrides, tone, title) => {
    expect(judge(snapshotFixture(overrides), words, format)).toMatchObject({ tone, title });
  });

  it('[W50] says why the last round ended and when the next begins', () => {
    const snapshot = snapshotFixture({
      counts: counts({ queued: 1 }),
      stoppedBy: 'failures',
      wakeAt: NOW + 30_000,
    });
    const { more } = judge(snapshot, words, format);
    expect(more).toContain('too many failures in a row');
    expect(more).toContain(format.time(NOW + 30_000));
  });

  it('[W50] does not hide, while paused, that a person is needed', () => {
    const snapshot = snapshotFixture({ counts: counts({ blocked: 1 }), stoppedBy: 'paused' });
    expect(judge(snapshot, words, format).more).toContain('1 change needs you');
  });

  it('[W50, D46] says what the server has and the device could not note', () => {
    const snapshot = snapshotFixture({ counts: counts({ queued: 1 }), accepted: ['a'] });
    expect(judge(snapshot, words, format).more).toBe(
      'The server has 1 change that this device could not note yet.',
    );
  });
});

describe('a row in words', () => {
  it('[W50] is its command and what it is about', () => {
    const id = '0f0e0d0c-0000-4000-8000-000000000001';
    expect(titleOf(viewRow('a', { kind: 'delete', target: { type: 'id', id: 'w-17' } }), words)).toEqual({
      title: 'Delete workout',
      target: 'w-17',
    });
    expect(titleOf(viewRow(id, { kind: 'create', target: { type: 'pending', origin: id } }), words)).toEqual({
      title: 'Create workout',
      target: 'no id yet · 0f0e0d0c…',
    });
  });

  it('[W50] has its age, its attempts and its last failure', () => {
    const evidence = { attemptCount: 2, lastErrorCode: 'http_503' };
    const row = viewRow('a', { savedAt: NOW - 180_000, urgent: true, evidence });
    expect(factsOf(row, words, format).map(plain)).toEqual([
      'saved 3 min ago',
      'tried 2 times',
      'http_503',
      'urgent',
    ]);
  });

  const REASONS: readonly (readonly [ExplainedRow['reason'], string])[] = [
    [{ type: 'ready' }, 'Ready to leave.'],
    [{ type: 'sending', host: 'h', leaseEndsAt: NOW }, 'On its way to the server.'],
    [{ type: 'waits_for', origin: 'o', id: undefined }, 'Leaves after the change before it.'],
    [
      { type: 'waits_until', at: NOW, by: 'server' },
      `Not before ${format.time(NOW)}: the server asked to wait.`,
    ],
    [{ type: 'waits_until', at: NOW, by: 'engine' }, `Tried again at ${format.time(NOW)}.`],
    [{ type: 'signed_out' }, 'Waits for sign-in.'],
    [{ type: 'paused' }, 'Sending is paused.'],
    [{ type: 'blocked', code: 'expired' }, 'This change was too late to be sent.'],
    [{ type: 'needs_receipt' }, 'The server is asked first whether it has this already.'],
    [{ type: 'other_owner' }, 'Belongs to another account.'],
  ];
  it.each(REASONS)('[W50, W19] gives for %j the reason “%s”', (reason, sentence) => {
    const explained = addWords({ row: rowFixture(), reason, wakes: [] });
    expect(reasonOf(explained.reason, words, format)).toBe(sentence);
  });

  it('[W50, C1] shows the claim: holder, fence, and whether the lease lasts', () => {
    const claim = { host: 'host-1', fence: 3, expiresAt: NOW + 10_000 };
    const values = (now: number) =>
      claimOf(rowFixture({ claim }), words, format, now).map(({ value }) => value);
    expect(values(NOW)).toEqual(['host-1', '3', `until ${format.time(claim.expiresAt)}`]);
    expect(values(NOW + 10_000)).toEqual(['host-1', '3', 'over']);
    expect(claimOf(rowFixture(), words, format, NOW)).toEqual([]);
  });

  it('[W50] has the facts that are known, and no others', () => {
    const full = rowFacts(
      rowFixture({
        id: 'b',
        origin: 'a',
        tags: ['x', 'y'],
        replaces: ['a'],
        conflict: { originalId: 'a', expected: 1, actual: 4, at: NOW },
        recovery: { source: 'ledger', at: NOW, generation: 1, proof: 'agreed' },
        writer: { release: '0.1.0', at: NOW },
      }),
      words,
      format,
    );
    expect(Object.fromEntries(full.map(({ name, value }) => [name, plain(value)]))).toMatchObject({
      'Idempotency key': 'b',
      Line: 'a',
      Content: '20 bytes',
      Tags: 'x, y',
      'Took over': 'a',
      Conflict: 'made on 1, the server had 4',
      Restored: 'from the ledger, agreed',
      'Written by': '0.1.0',
    });
    const bare = rowFacts(rowFixture({ bodySize: undefined, expectedRevision: undefined }), words, format);
    expect(bare.map(({ name }) => name)).toEqual(['Idempotency key', 'Place', 'Target', 'Saved']);
  });
});

describe('figures', () => {
  it.each([
    [0, 'now'],
    [-5_000, 'now'],
    [59_999, '59 sec ago'],
    [3_600_000, '1 hr ago'],
    [90_000_000, 'yesterday'],
  ])('[W50] an age of %i ms is %s', (age, text) => {
    expect(plain(createFormat('en-US')(NOW).ago(NOW - age)).replaceAll('.', '')).toBe(text);
  });

  it.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [2_007, '2 kB'],
    [6_520_000, '6.5 MB'],
    [10_700_000_000, '10.7 GB'],
  ])('[W50] %i bytes are %s', (count, text) => {
    expect(plain(createFormat('en-US')(NOW).bytes(count))).toBe(text);
  });

  it('[W50] an instant of another day has its date', () => {
    expect(format.time(NOW)).not.toContain('2026');
    expect(format.time(NOW - 3 * 86_400_000)).toContain('2026');
  });
});

describe('content as JSON', () => {
  it.each([
    { what: 'plain data', value: { a: [1, 'x', null, true], b: { c: undefined } }, isPlain: true },
    { what: 'a date', value: { at: new Date(0) }, isPlain: false },
    { what: 'a big integer', value: [1n], isPlain: false },
    { what: 'no number', value: { kg: Number.NaN }, isPlain: false },
    { what: 'minus zero', value: -0, isPlain: false },
    { what: 'bytes', value: new Uint8Array(2), isPlain: false },
    { what: 'a map', value: new Map(), isPlain: false },
    { what: 'an absent element', value: [undefined], isPlain: false },
  ])('[W50, R4] $what can be edited so: $isPlain', ({ value, isPlain }) => {
    expect(isJson(value)).toBe(isPlain);
    if (isPlain) expect(JSON.parse(toText(value))).toEqual(JSON.parse(JSON.stringify(value)));
  });

  it('[W50, R4] is readable whatever it holds', () => {
    const text = toText({
      big: 2n ** 64n,
      day: new Date(0),
      never: new Date(Number.NaN),
      map: new Map([['a', 1n]]),
      set: new Set([1]),
      bytes: new Uint8Array([1, 2, 3]).buffer,
      part: new Uint16Array([258]).subarray(0, 1),
      file: new Blob(['abc'], { type: 'text/plain' }),
      endless: Number.POSITIVE_INFINITY,
    });
    expect(JSON.parse(text)).toEqual({
      big: { $bigint: '18446744073709551616' },
      day: '1970-01-01T00:00:00.000Z',
      never: { $date: 'invalid' },
      map: { $map: [['a', { $bigint: '1' }]] },
      set: { $set: [1] },
      bytes: { $bytes: 'AQID' },
      part: { $bytes: 'AgE=' },
      file: { $blob: { type: 'text/plain', size: 3 } },
      endless: { $number: 'Infinity' },
    });
    expect(toText(undefined)).toBe('undefined');
  });
});
