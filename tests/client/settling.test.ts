import { describe, expect, it } from 'vitest';
import { createSettling } from '../../client/settling.ts';
import type { Waiting } from '../../shared/answers.ts';
import type { Outcome, Settled } from '../../shared/outcome.ts';

function desk(answers: Readonly<Record<string, Settled | Waiting | Error>> = {}) {
  const asked: string[] = [];
  const later: (() => void)[] = [];
  let gate: Promise<void> | undefined;
  const settling = createSettling(
    async (id) => {
      asked.push(id);
      await gate;
      const answer = answers[id] ?? { type: 'waiting', id };
      if (answer instanceof Error) throw answer;
      return answer;
    },
    (run) => later.push(run),
  );
  return {
    asked,
    /** What was put off, done now. */
    pass: () => {
      for (const run of later.splice(0)) run();
    },
    settling,
    holdAnswers: (): (() => void) => {
      let release = (): void => undefined;
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}

const of = (id: string): Outcome['row'] => ({
  id,
  origin: id,
  owner: 'ann',
  seq: 1,
  family: 'workout',
  kind: 'update',
  target: { type: 'id', id: 'w1' },
});
const receipt = {
  id: 'i1',
  requestHash: 'h',
  kind: 'workout.update',
  target: 'w1',
  revision: 3,
  generation: 1,
  committedAt: 5,
};
const committed = (id: string): Outcome => ({ type: 'committed', row: of(id), receipt });
const replaced = (id: string, by: string): Outcome => ({ type: 'replaced', row: of(id), by });

/** What a promise has become after everything that is ready has run. */
const now = async <T>(promise: Promise<T>): Promise<T | 'pending'> => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  return Promise.race([promise, Promise.resolve('pending' as const)]);
};

describe('the end a caller waits for', () => {
  it('[W17, D42] is the receipt', async () => {
    const { settling } = desk();
    const end = settling.wait('i1');
    await now(end);
    settling.hear([committed('other'), committed('i1')]);
    expect(await end).toEqual({ type: 'uploaded', id: 'i1', receipt });
  });

  it.each([
    { outcome: { type: 'already_gone' }, end: { type: 'already_gone' } },
    { outcome: { type: 'blocked', code: 'rejected' }, end: { type: 'blocked', code: 'rejected' } },
    {
      outcome: { type: 'unknown', rejection: { code: 'receipt_missing' } },
      end: { type: 'unknown', rejection: { code: 'receipt_missing' } },
    },
    { outcome: { type: 'dropped', reason: 'resolver' }, end: { type: 'dropped' } },
    { outcome: { type: 'cancelled' }, end: { type: 'cancelled' } },
    { outcome: { type: 'discarded' }, end: { type: 'discarded' } },
    {
      outcome: { type: 'deferred', failure: { class: 'transient', code: 'timeout' } },
      end: { type: 'deferred' },
    },
    { outcome: { type: 'held', failure: { class: 'auth', code: 'http_401' } }, end: { type: 'held' } },
  ] as const)('[D42] of $outcome.type the waiting caller hears $end.type', async ({ outcome, end }) => {
    const { settling } = desk();
    const waiting = settling.wait('i1');
    settling.hear([{ ...outcome, row: of('i1') }]);
    expect(await waiting).toMatchObject({ ...end, id: 'i1' });
  });

  it('[W17, D42] follows to the row that took over, and says so', async () => {
    const { settling } = desk();
    const end = settling.wait('i1');
    settling.hear([replaced('i1', 'i2')]);
    settling.hear([replaced('i2', 'i3'), committed('i1')]);
    expect(await now(end)).toBe('pending');
    settling.hear([committed('i3')]);
    expect(await end).toMatchObject({ type: 'uploaded', id: 'i3', via: ['i1', 'i2'] });
  });

  it('[W17] after a reload it listens for the row that took over meanwhile', async () => {
    const { settling } = desk({ i1: { type: 'waiting', id: 'i5', via: ['i1', 'i4'] } });
    const end = settling.wait('i1');
    await now(end);
    settling.hear([committed('i5')]);
    expect(await end).toMatchObject({ type: 'uploaded', id: 'i5', via: ['i1', 'i4'] });
  });

  it('[W17, A74] what had ended before is answered at once', async () => {
    const { settling } = desk({ i1: { type: 'blocked', id: 'i1', code: 'rejected' } });
    expect(await settling.wait('i1')).toEqual({ type: 'blocked', id: 'i1', code: 'rejected' });
  });

  it('[A44, D42] an id nobody knows is not found', async () => {
    const { settling } = desk({ i1: { type: 'not_found', id: 'i1' } });
    expect(await settling.wait('i1')).toEqual({ type: 'not_found', id: 'i1' });
  });

  it('[W17] an end that comes before the answer to the question is heard', async () => {
    const { settling, holdAnswers } = desk();
    const release = holdAnswers();
    const end = settling.wait('i1');
    settling.hear([replaced('i1', 'i2')]);
    release();
    expect(await now(end)).toBe('pending');
    settling.hear([committed('i2')]);
    expect(await end).toMatchObject({ id: 'i2', via: ['i1'] });
  });

  it('[W17, D42] `final` goes on past what only waits', async () => {
    const { settling } = desk({ i1: { type: 'held', id: 'i1' } });
    const end = settling.wait('i1', { final: true });
    settling.hear([{ type: 'deferred', failure: { class: 'transient', code: 'reset' }, row: of('i1') }]);
    expect(await now(end)).toBe('pending');
    settling.hear([committed('i1')]);
    expect(await end).toMatchObject({ type: 'uploaded' });
  });

  it('[W17, W18] asks again for all that wait when changes may have been missed', async () => {
    const answers: Record<string, Settled> = {};
    const { settling, asked } = desk(answers);
    const end = settling.wait('i1');
    await now(end);
    answers['i1'] = { type: 'already_gone', id: 'i1' };
    settling.askAgain();
    expect(await end).toMatchObject({ type: 'already_gone' });
    settling.askAgain();
    expect(asked).toEqual(['i1', 'i1']);
  });

  it('[W17, D42] a late question about the row before that fails does not end a wait that has moved on', async () => {
    const { settling, holdAnswers } = desk({ i1: new Error('No answer in time') });
    const release = holdAnswers();
    const end = settling.wait('i1').catch((error: unknown) => error);
    settling.hear([{ type: 'superseded', row: of('i1'), by: 'i2' }]);
    release();
    await new Promise((resolve) => setImmediate(resolve));
    settling.hear([{ type: 'discarded', row: of('i2') }]);
    expect(await end).toMatchObject({ type: 'discarded', id: 'i2' });
  });

  it('[W17, W11] goes on waiting where asking again fails, and is asked for until somebody answers', async () => {
    const answers: Record<string, Settled | Error> = {};
    const { settling, asked, pass } = desk(answers);
    const end = settling.wait('i1');
    await now(end);
    answers['i1'] = new Error('No answer in time');
    settling.askAgain();
    expect(await now(end)).toBe('pending');
    pass();
    expect(await now(end)).toBe('pending');
    answers['i1'] = { type: 'already_gone', id: 'i1' };
    pass();
    expect(await end).toEqual({ type: 'already_gone', id: 'i1' });
    expect(asked).toHaveLength(4);
    pass();
    expect(asked).toHaveLength(4);
  });

  it('[W17] does not ask for long what has ended otherwise meanwhile', async () => {
    const answers: Record<string, Settled | Error> = {};
    const { settling, asked, pass } = desk(answers);
    const end = settling.wait('i1');
    await now(end);
    answers['i1'] = new Error('No answer in time');
    settling.askAgain();
    await now(end);
    settling.hear([committed('i1')]);
    pass();
    expect(await end).toMatchObject({ type: 'uploaded' });
    expect(asked).toHaveLength(2);
  });

  it('[W30, D42] of an owner who is no longer shown it is held', async () => {
    const { settling } = desk();
    const end = settling.wait('i1', { final: true });
    settling.hold();
    expect(await end).toEqual({ type: 'held', id: 'i1' });
  });

  it('[W11] a question that fails rejects, and leaves nobody waiting', async () => {
    const { settling, asked } = desk({ i1: new Error('no host') });
    await expect(settling.wait('i1')).rejects.toThrow('no host');
    settling.askAgain();
    expect(asked).toEqual(['i1']);
  });
});
