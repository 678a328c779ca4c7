import { describe, expect, it } from 'vitest';
import type { ConflictAnswer, FamilyPorts } from '../../../sw/dispatch/family-ports.ts';
import {
  type ConflictCase,
  deviceFailure,
  resolveConflict,
  type WithinLimit,
} from '../../../sw/dispatch/resolve-conflict.ts';
import type { ServerState } from '../../../sw/dispatch/sender.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const unlimited: WithinLimit = async (run) => run(new AbortController().signal);
/** A limit that has passed at once, as a clock moved past it would make it. */
const passed: WithinLimit = async (run) => {
  void Promise.resolve(run(AbortSignal.abort())).catch(() => undefined);
  throw new Error('No answer within 8000 ms');
};

const row = rowFixture({ tags: ['2026-11-30'] });
const base: ConflictCase = {
  row,
  body: { weightKg: 80 },
  conflict: {
    type: 'conflict',
    failure: { class: 'conflict', code: 'revision_conflict', status: 412 },
    applied: 'not_this_attempt',
    actual: 5,
  },
  rounds: 0,
  predecessor: undefined,
  ports: {},
  headers: { authorization: 'Bearer x' },
  now: 9_000,
};
const unnamed = { ...base.conflict, actual: undefined };
const summary = { originalId: row.id, expected: 1, actual: 5, at: 9_000 };

function resolve(overrides: Partial<ConflictCase> = {}, within = unlimited) {
  return resolveConflict({ ...base, ...overrides }, within);
}

const answering = (answer: ConflictAnswer): FamilyPorts => ({ resolveConflict: () => answer });

describe('a conflict is resolved', () => {
  it('[D30, D33] by a resend on the actual revision, unless the family says otherwise', async () => {
    const expected = { type: 'resend', actual: 5, summary: { ...summary, answer: 'resend' } };
    expect(await resolve()).toEqual(expected);
    expect(await resolve({ ports: answering({ type: 'resend' }) })).toEqual(expected);
  });

  it('[D30, D33] by a resend with the resolver’s new body', async () => {
    expect(await resolve({ ports: answering({ type: 'body', body: { weightKg: 85 } }) })).toEqual({
      type: 'resend',
      actual: 5,
      newBody: { body: { weightKg: 85 } },
      summary: { ...summary, answer: 'body' },
    });
  });

  it('[D30, D33] by a block, without doubt', async () => {
    expect(await resolve({ ports: answering({ type: 'block' }) })).toEqual({
      type: 'refused',
      code: 'conflict',
      applied: 'not_this_attempt',
      failure: { class: 'permanent', code: 'conflict', status: 412 },
      summary: { ...summary, answer: 'block' },
    });
  });

  it('[D30, D33] by letting the server’s version win', async () => {
    expect(await resolve({ ports: answering({ type: 'drop' }) })).toMatchObject({
      type: 'dropped',
      summary: { ...summary, answer: 'drop' },
    });
  });
});

describe('the resolver', () => {
  it('[D30] sees the row, both bodies and both revisions, and asks for the server’s state only if it wants it', async () => {
    const asked: unknown[] = [];
    const server: ServerState = { revision: 5, body: { weightKg: 70 } };
    const ports: FamilyPorts = {
      readCurrent: async (request) => {
        asked.push(request);
        return server;
      },
      resolveConflict: async (conflict) => {
        expect(asked).toEqual([]);
        expect(conflict).toMatchObject({
          row: { id: row.id, family: 'workout', kind: 'update', target: row.target, tags: row.tags },
          body: { weightKg: 80 },
          expected: 1,
          actual: 5,
        });
        return { type: 'body', body: [conflict.body, await conflict.readCurrent()] };
      },
    };
    expect(await resolve({ ports })).toMatchObject({ newBody: { body: [{ weightKg: 80 }, server] } });
    expect(asked).toEqual([{ owner: 'ann', target: 'w1', headers: { authorization: 'Bearer x' } }]);
  });

  it('[D30] that asks for a state nobody can read hears undefined', async () => {
    const ports: FamilyPorts = {
      resolveConflict: async ({ readCurrent }) => ({ type: 'body', body: String(await readCurrent()) }),
    };
    expect(await resolve({ ports })).toMatchObject({ newBody: { body: 'undefined' } });
  });

  it('[D30] A72 cannot change the stored row', async () => {
    const ports: FamilyPorts = {
      resolveConflict: ({ row: seen }) => {
        Object.assign(seen.target, { id: 'other' });
        (seen.tags as string[]).push('x');
        return { type: 'resend' };
      },
    };
    await resolve({ ports });
    expect(row).toMatchObject({ target: { id: 'w1' }, tags: ['2026-11-30'] });
  });

  it('[D4] that throws, rejects or answers nonsense makes the row wait', async () => {
    const broken: readonly FamilyPorts['resolveConflict'][] = [
      () => {
        throw new Error('bug');
      },
      () => Promise.reject(new Error('bug')),
      () => 'resend' as never,
      () => undefined as never,
    ];
    for (const resolver of broken)
      expect(await resolve({ ports: { resolveConflict: resolver } })).toMatchObject({
        type: 'transient',
        failure: { class: 'transient', code: 'resolver_failed' },
        applied: 'not_this_attempt',
        scope: 'device',
      });
  });

  it('[D4] that answers too late is not waited for', async () => {
    const ports: FamilyPorts = { resolveConflict: () => new Promise(() => undefined) };
    expect(await resolve({ ports }, passed)).toMatchObject({
      type: 'transient',
      failure: { code: 'resolver_failed' },
    });
  });
});

describe('a conflict that names no revision', () => {
  it('[D10, D30] is resolved on the one the server reads out', async () => {
    const ports: FamilyPorts = { readCurrent: async () => ({ revision: 6, body: {} }) };
    expect(await resolve({ conflict: unnamed, ports })).toEqual({
      type: 'resend',
      actual: 6,
      summary: { ...summary, actual: 6, answer: 'resend' },
    });
  });

  it('[D10, D30] is a person’s to decide where the server cannot say', async () => {
    const unable: readonly FamilyPorts[] = [
      {},
      { readCurrent: async () => undefined },
      { readCurrent: async () => ({ revision: Number.NaN, body: {} }) },
    ];
    for (const ports of unable)
      expect(await resolve({ conflict: unnamed, ports })).toMatchObject({
        type: 'refused',
        code: 'conflict',
      });
    const ports: FamilyPorts = { readCurrent: async () => ({ revision: 6, body: {} }) };
    const pending = rowFixture({ target: { type: 'pending', origin: 'o' } });
    expect(await resolve({ conflict: unnamed, ports, row: pending })).toMatchObject({ type: 'refused' });
  });

  it('[D4] waits where the reading fails or takes too long', async () => {
    const failing: FamilyPorts = { readCurrent: () => Promise.reject(new Error('down')) };
    const hanging: FamilyPorts = { readCurrent: () => new Promise(() => undefined) };
    for (const resolution of [
      await resolve({ conflict: unnamed, ports: failing }),
      await resolve({ conflict: unnamed, ports: hanging }, passed),
    ])
      expect(resolution).toMatchObject({ type: 'transient', failure: { code: 'read_current_failed' } });
  });
});

it('[D32] A53 a storm is a failure of the device: the row waits, the connection is not to blame', async () => {
  const resolution = await resolve({ rounds: 3, ports: answering({ type: 'resend' }) });
  expect(resolution).toEqual(deviceFailure('conflict_storm', 'not_this_attempt'));
  expect(resolution).toMatchObject({
    type: 'transient',
    scope: 'device',
    failure: { code: 'conflict_storm' },
  });
});
