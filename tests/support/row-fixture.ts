import type { Row } from '../../shared/row.ts';

/** A queued update of workout `w1`, owner `ann`; override what the test is about. */
export function rowFixture(overrides: Partial<Row> = {}): Row {
  const id = overrides.id ?? '00000000-0000-4000-8000-000000000001';
  return {
    format: 1,
    id,
    origin: overrides.origin ?? id,
    seq: 1,
    owner: 'ann',
    family: 'workout',
    kind: 'update',
    target: { type: 'id', id: 'w1' },
    savedAt: 1_000,
    requestHash: 'h1',
    bodyId: id,
    bodyDigest: 'd1',
    bodySize: 20,
    expectedRevision: 1,
    state: 'queued',
    doubt: false,
    evidence: { attemptCount: 0 },
    version: 1,
    ...overrides,
  };
}
