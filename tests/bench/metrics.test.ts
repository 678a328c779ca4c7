import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { BUDGETS, formatLine, quantile, summarise } from '../../bench/common/metrics.ts';
import { createSamples } from '../../bench/common/samples.ts';

const drain = BUDGETS.find(({ id }) => id === 'drain_1000_vs_bare_c6');

describe('the benchmark`s figures', () => {
  it('[T40] a median of runs is told with its spread', () => {
    expect(summarise([3, 1, 2, 10], 'ratio')).toEqual({ value: 2.5, unit: 'ratio', min: 1, max: 10, n: 4 });
    expect(quantile([1, 2, 3, 4, 5], 0.99)).toBeCloseTo(4.96);
  });

  it('[T40] a figure above its budget is called so', () => {
    if (!drain) throw new Error('The budget is missing');
    const line = (value: number): string =>
      formatLine(drain, { value, unit: 'ratio', min: value, max: value, n: 1 });
    expect(line(2)).toMatch(/^ok {3}drain_1000_vs_bare_c6/);
    expect(line(2.01)).toMatch(/^OVER drain_1000_vs_bare_c6/);
  });

  it('[T40] a figure without a budget is only taken as reported', () => {
    const samples = createSamples();
    expect(() => samples.add('ms_drain_1000', 1)).toThrow('No budget');
    samples.report('ms_drain_1000', 'ms', 1, 3);
    expect(samples.metrics()).toEqual({ ms_drain_1000: { value: 2, unit: 'ms', min: 1, max: 3, n: 2 } });
  });

  it('[T40] the results that are kept have every budget', () => {
    const path = fileURLToPath(new URL('../../bench/results.json', import.meta.url));
    const { machine, at, metrics } = JSON.parse(readFileSync(path, 'utf8')) as {
      readonly machine: string;
      readonly at: string;
      readonly metrics: Readonly<Record<string, unknown>>;
    };
    expect(machine).not.toBe('');
    expect(Date.parse(at)).toBeGreaterThan(0);
    const measured = BUDGETS.filter(({ id }) => id !== 'size_inspector_gz');
    expect(measured.filter(({ id }) => !(id in metrics))).toEqual([]);
  });
});
