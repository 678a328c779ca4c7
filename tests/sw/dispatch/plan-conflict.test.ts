import { describe, expect, it, test } from 'vitest';
import type { Outcome } from '../../../shared/outcome.ts';
import { type ConflictView, planConflict, readConflictAnswer } from '../../../sw/dispatch/plan-conflict.ts';
import { MAX_CONFLICT_ROUNDS } from '../../../sw/outbox/plan-resend.ts';
import { receiptFixture, sentFixture } from '../../support/receipt-fixture.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const resolveConflict = () => ({ type: 'block' }) as const;
const readCurrent = async () => undefined;

function plan(view: Partial<ConflictView> = {}) {
  return planConflict({
    row: rowFixture(),
    actual: 5,
    rounds: 0,
    predecessor: undefined,
    ports: {},
    ...view,
  });
}

function accepted(revision: number, resolvedConflict?: boolean): Outcome {
  const { id, origin, seq, owner, family, kind, target } = rowFixture();
  const receipt = receiptFixture(sentFixture(), { revision });
  return {
    type: 'committed',
    receipt,
    resolvedConflict,
    row: { id, origin, seq, owner, family, kind, target },
  };
}

describe('a revision conflict', () => {
  it('[D30] is resent on the actual revision where the family says nothing', () => {
    for (const kind of ['update', 'delete', 'put', 'remove'] as const)
      expect(plan({ row: rowFixture({ kind }) })).toEqual({ type: 'resend', actual: 5 });
    expect(plan({ row: rowFixture({ kind: 'create' }) })).toEqual({ type: 'block' });
  });

  it('[D30] is put to the family’s resolver', () => {
    expect(plan({ ports: { resolveConflict } })).toEqual({ type: 'ask_resolver', actual: 5 });
  });

  it('[D10, D30] without an actual revision asks the server for it, or a person where it cannot', () => {
    expect(plan({ actual: undefined, ports: { readCurrent, resolveConflict } })).toEqual({
      type: 'read_current',
    });
    expect(plan({ actual: undefined, ports: { resolveConflict } })).toEqual({ type: 'block' });
  });

  it('[D34] that this device made itself is rebased without asking', () => {
    const ports = { resolveConflict };
    expect(plan({ ports, predecessor: accepted(5) })).toEqual({ type: 'resend', actual: 5 });
  });

  test.each([
    { why: 'somebody else changed it since', predecessor: accepted(4) },
    { why: 'the predecessor went through a conflict itself', predecessor: accepted(5, true) },
    { why: 'the predecessor’s end is not known', predecessor: undefined },
  ])('[D34] is put to the resolver where $why', ({ predecessor }) => {
    expect(plan({ ports: { resolveConflict }, predecessor }).type).toBe('ask_resolver');
  });

  it('[C33] of an overtaken row is a person’s to decide, whoever made it', () => {
    const row = rowFixture({ overtakenBy: 'other' });
    expect(plan({ row, ports: { resolveConflict }, predecessor: accepted(5) })).toEqual({ type: 'block' });
  });

  it('[D32] A53 is resent three times in a flush, then waits', () => {
    const types = [0, 1, 2, 3, 4].map((rounds) => plan({ rounds }).type);
    expect(types).toEqual(['resend', 'resend', 'resend', 'storm', 'storm']);
    expect(MAX_CONFLICT_ROUNDS).toBe(3);
  });
});

describe('a resolver’s answer', () => {
  it('[D30] is one of four words, a new body where the command has one', () => {
    const row = rowFixture();
    for (const type of ['resend', 'block', 'drop'])
      expect(readConflictAnswer({ type, extra: 1 }, row)).toEqual({ type });
    expect(readConflictAnswer({ type: 'body', body: { a: 1 } }, row)).toEqual({
      type: 'body',
      body: { a: 1 },
    });
  });

  test.each([undefined, null, 'resend', 5, {}, { type: 'merge' }, { type: 'body' }])(
    '[D4] that is %o makes no sense',
    (answer) => {
      expect(readConflictAnswer(answer, rowFixture())).toBeUndefined();
    },
  );

  it('[D4] with a body for a command that has none makes no sense', () => {
    expect(readConflictAnswer({ type: 'body', body: 1 }, rowFixture({ kind: 'delete' }))).toBeUndefined();
  });
});
