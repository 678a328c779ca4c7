import { describe, expect, it } from 'vitest';
import { createPageCredentials } from '../../../sw/host/page-credentials.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';

function desk(pages = true) {
  const clock = createManualClock();
  const asked: (readonly [string, boolean])[] = [];
  const credentials = createPageCredentials({
    after: clock.after,
    hasPages: async () => pages,
    ask: (owner, refused) => asked.push([owner, refused]),
  });
  return { clock, asked, credentials };
}

const token = (value: string) => ({ headers: { authorization: value } });

describe('credentials that pages hand over', () => {
  it('[W31] asks the pages once for a burst, and keeps the answer in memory', async () => {
    const { clock, asked, credentials } = desk();
    const burst = Promise.all([1, 2, 3].map(() => credentials.offer('ann', false)));
    await clock.settle();
    credentials.give('ann', token('t1'));
    expect(await burst).toEqual(Array(3).fill({ type: 'headers', ...token('t1') }));
    await credentials.offer('ann', false);
    expect(asked).toEqual([['ann', false]]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('[W31] says whether what it was given may let rows leave: no answer does, and nothing that is known', async () => {
    const { clock, credentials } = desk();
    expect(credentials.give('ann', token('t1'))).toBe(true);
    expect(credentials.give('ann', token('t1'))).toBe(false);
    expect(credentials.give('ann', undefined)).toBe(false);
    expect(credentials.give('ann', token('t1'))).toBe(false);
    const offer = credentials.offer('ann', true);
    await clock.settle();
    expect(credentials.give('ann', token('t2'))).toBe(false);
    await offer;
    // The other pages answer too.
    expect(credentials.give('ann', token('t2'))).toBe(false);
    expect(credentials.give('ann', token('t3'))).toBe(true);
  });

  it('[W31, W32] forgets an account that signed out', async () => {
    const { clock, asked, credentials } = desk();
    credentials.give('ann', token('t1'));
    credentials.forget('ann');
    const offer = credentials.offer('ann', false);
    await clock.settle();
    expect(asked).toEqual([['ann', false]]);
    credentials.give('ann', undefined);
    expect(await clock.until(offer)).toEqual({ type: 'none' });
    expect(credentials.give('ann', token('t1'))).toBe(true);
  });

  it('[W31, A48] does not offer again what was refused', async () => {
    const { clock, asked, credentials } = desk();
    credentials.give('ann', token('old'));
    const offer = credentials.offer('ann', true);
    await clock.settle();
    expect(asked).toEqual([['ann', true]]);
    credentials.give('ann', token('new'));
    expect(await offer).toEqual({ type: 'headers', ...token('new') });
  });

  it('[W31, W30] of one owner nothing is offered for another', async () => {
    const { clock, credentials } = desk();
    credentials.give('ann', token('t1'));
    const offer = credentials.offer('bob', false);
    await clock.settle();
    credentials.give('bob', undefined);
    expect(await clock.until(offer)).toEqual({ type: 'none' });
  });

  it('[W31] of two tabs that disagree the one with headers counts, whichever answers first', async () => {
    for (const answers of [
      [undefined, token('t1')],
      [token('t1'), undefined],
    ]) {
      const { clock, asked, credentials } = desk();
      const offer = credentials.offer('ann', false);
      await clock.settle();
      for (const answer of answers) {
        credentials.give('ann', answer);
        await clock.advance(100);
      }
      expect(await offer).toEqual({ type: 'headers', ...token('t1') });
      // Nor does the other one's answer take them away.
      expect(await credentials.offer('ann', false)).toEqual({ type: 'headers', ...token('t1') });
      expect(asked).toHaveLength(1);
      await clock.advance(5_000);
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it('[W31] tabs that have none all say so, and that is believed after a moment', async () => {
    const { clock, credentials } = desk();
    const offer = credentials.offer('ann', false);
    await clock.settle();
    credentials.give('ann', undefined);
    credentials.give('ann', undefined);
    await clock.advance(500);
    expect(await offer).toEqual({ type: 'none' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('[W31, W22] two tabs with different headers, both refused, do not start each other’s flush for ever', async () => {
    const { clock, credentials } = desk();
    let flushes = 0;
    for (let round = 0; round < 5; round++) {
      const offer = credentials.offer('ann', round > 0);
      await clock.settle();
      for (const old of ['t1', 't2']) if (credentials.give('ann', token(old))) flushes++;
      await offer;
    }
    expect(flushes).toBe(1);
  });

  it('[W31] with no page open there are none, and the rows are held', async () => {
    const { asked, credentials } = desk(false);
    expect(await credentials.offer('ann', false)).toEqual({ type: 'none' });
    expect(asked).toEqual([]);
  });

  it('[W31, D4] pages that do not answer are not taken for signed out', async () => {
    const { clock, credentials } = desk();
    const failure = credentials.offer('ann', false).catch((error: unknown) => error);
    await clock.advance(5_000);
    expect(await failure).toBeInstanceOf(Error);
    const again = credentials.offer('ann', false);
    await clock.settle();
    credentials.give('ann', token('late'));
    expect(await again).toMatchObject({ type: 'headers' });
  });
});
