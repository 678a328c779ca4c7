import { describe, expect, it } from 'vitest';
import { drawChart, minutesOf, niceTop } from '../../../client/inspector/chart.ts';
import {
  type History,
  NO_HISTORY,
  noteDepth,
  noteSent,
  STEP_MS,
  STEPS,
  stepsOf,
} from '../../../client/inspector/history.ts';

const START = 1_000 * STEP_MS;
const at = (step: number): number => START + step * STEP_MS;
const depths = (history: History, now: number) => stepsOf(history, now).map(({ depth }) => depth);

describe('the history of the inspector', () => {
  it('[W50] keeps the depth of each step, and says nothing of the time before the first look', () => {
    const history = noteDepth(noteDepth(NO_HISTORY, at(0), 3), at(2), 5);
    expect(depths(history, at(3)).slice(-5)).toEqual([undefined, 3, 3, 5, 5]);
    expect(depths(history, at(3))).toHaveLength(STEPS);
  });

  it('[W50] shows a peak that was over before the step was', () => {
    const busy = noteDepth(noteDepth(noteDepth(NO_HISTORY, at(0), 0), at(0) + 1, 900), at(0) + 2, 0);
    expect(depths(noteDepth(busy, at(1), 0), at(1)).slice(-2)).toEqual([900, 0]);
  });

  it('[W50] counts what the server accepted in the step in which it did, also before the first look', () => {
    const history = noteSent(NO_HISTORY, at(5), [at(2), at(2) + 1, at(5), at(-STEPS)]);
    expect(
      stepsOf(history, at(5))
        .slice(-6)
        .map(({ sent }) => sent),
    ).toEqual([0, 0, 2, 0, 0, 1]);
  });

  it('[W50] forgets what is out of sight, and what a clock set back has put ahead', () => {
    let history = NO_HISTORY;
    for (let step = 0; step < 3 * STEPS; step++)
      history = noteSent(noteDepth(history, at(step), step), at(step), [at(step)]);
    expect(history.depths.size).toBeLessThanOrEqual(STEPS + 1);
    expect(history.sent.size).toBeLessThanOrEqual(STEPS + 1);
    const back = noteDepth(history, at(0), 7);
    expect([...back.depths]).toEqual([[START / STEP_MS, 7]]);
  });

  it('[W50] is told in minutes, newest first, for those who cannot see the picture', () => {
    let history = noteDepth(NO_HISTORY, at(0), 4);
    history = noteDepth(noteSent(history, at(12), [at(0), at(12), at(12)]), at(12), 9);
    const minutes = minutesOf(stepsOf(history, at(12)));
    expect(minutes).toHaveLength(5);
    expect(minutes.slice(0, 3)).toEqual([
      { ago: 0, depth: 9, sent: 2 },
      { ago: 1, depth: 4, sent: 1 },
      { ago: 2, depth: undefined, sent: 0 },
    ]);
  });
});

describe('the chart', () => {
  it.each([
    [0, 4],
    [4, 4],
    [5, 5],
    [7, 10],
    [11, 20],
    [340, 400],
    [10_000, 10_000],
    [10_001, 20_000],
  ])('[W50] has a round end of the scale for %i', (most, top) => {
    expect(niceTop(most)).toBe(top);
  });

  const steps = (list: readonly (readonly [depth: number | undefined, sent: number])[]) =>
    list.map(([depth, sent], place) => ({ at: at(place), depth, sent }));

  it('[W50] draws nothing before the first look', () => {
    const chart = drawChart(steps([[undefined, 0]]), 400);
    expect(chart).toMatchObject({ line: '', area: '', end: undefined, bars: [] });
  });

  it('[W50] stays between its edges, the highest value at the top and none at the bottom', () => {
    const chart = drawChart(
      steps([
        [0, 0],
        [10, 100],
        [5, 50],
      ]),
      448,
    );
    const [top, , base] = chart.depthTicks;
    expect(chart.line).toBe(
      `M173.3 ${base?.at}H306.7V${top?.at}H440V${((base?.at ?? 0) + (top?.at ?? 0)) / 2}`,
    );
    expect(chart.area).toBe(`${chart.line}V${base?.at}H173.3Z`);
    expect(chart.end).toEqual({ x: 440, y: 72 });
    const [high, low] = chart.bars;
    const [sentTop, sentBase] = chart.sentTicks;
    expect(high?.y).toBe(sentTop?.at);
    expect((high?.y ?? 0) + (high?.height ?? 0)).toBe(sentBase?.at);
    expect(low?.height).toBe((high?.height ?? 0) / 2);
    for (const { x, y, width, height } of chart.bars) {
      expect(x).toBeGreaterThanOrEqual(chart.left);
      expect(x + width).toBeLessThanOrEqual(chart.width);
      expect(y + height).toBeLessThanOrEqual(chart.height);
    }
  });

  it('[W50] shows a single accepted change among thousands', () => {
    const [bar] = drawChart(
      steps([
        [0, 1],
        [0, 5_000],
      ]),
      600,
    ).bars;
    expect(bar?.height).toBeGreaterThanOrEqual(2);
  });

  it.each([
    { width: 900, minutes: [0, 1, 2, 3, 4, 5] },
    { width: 250, minutes: [0, 2, 4] },
    { width: 10, minutes: [0, 3] },
  ])('[W50] names the minutes there is room for at $width px', ({ width, minutes }) => {
    const chart = drawChart(stepsOf(NO_HISTORY, at(0)), width);
    expect(chart.times.map(({ value }) => value)).toEqual(minutes);
    for (const { at: x } of chart.times) expect(x).toBeGreaterThanOrEqual(chart.left);
  });
});
