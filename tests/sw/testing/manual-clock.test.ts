import { expect, it } from 'vitest';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';

it('[W52] runs timers in order, also those set by timers, and stands still otherwise', async () => {
  const clock = createManualClock(1_000);
  const seen: [string, number][] = [];
  clock.after(20, () => seen.push(['b', clock.now()]));
  clock.after(10, () => {
    seen.push(['a', clock.now()]);
    clock.after(5, () => seen.push(['a2', clock.now()]));
  });
  const cancel = clock.after(12, () => seen.push(['never', clock.now()]));
  cancel();
  await clock.settle();
  expect(seen).toEqual([]);
  await clock.advance(30);
  expect(seen).toEqual([
    ['a', 1_010],
    ['a2', 1_015],
    ['b', 1_020],
  ]);
  expect(clock.now()).toBe(1_030);
  expect(clock.pendingTimers).toBe(0);
});

it('[W52] a jump moves the wall and not the timers', async () => {
  const clock = createManualClock(0);
  let went = false;
  clock.after(100, () => {
    went = true;
  });
  clock.jump(86_400_000);
  await clock.advance(99);
  expect(went).toBe(false);
  await clock.advance(1);
  expect([went, clock.now()]).toEqual([true, 86_400_100]);
});

it('[W52] moves until a promise settles, and says so when nothing could settle it', async () => {
  const clock = createManualClock(0);
  const later = new Promise<number>((resolve) => clock.after(5_000, () => resolve(clock.now())));
  expect(await clock.until(later)).toBe(5_000);
  await expect(clock.until(new Promise(() => undefined))).rejects.toThrow('Nothing is left to wait for');
});
