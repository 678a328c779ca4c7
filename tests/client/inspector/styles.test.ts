import { describe, expect, it } from 'vitest';
import { CHART_STYLES } from '../../../client/inspector/chart-styles.ts';
import { ROW_STYLES } from '../../../client/inspector/row-styles.ts';
import { STYLES } from '../../../client/inspector/styles.ts';

describe('the inspector’s style sheets', () => {
  const sheets = [STYLES, ROW_STYLES, CHART_STYLES].join('\n');
  const names = [...new Set(sheets.match(/--[\w-]+/g))];

  it('[W50] take custom properties by names of their own only, so that no page’s property meets them', () => {
    // On one element `--holdfast-line: var(--line)` and `--line: var(--holdfast-line)` would be a circle.
    expect(names.filter((name) => !/^--(?:_|holdfast-)/.test(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(20);
  });

  it('[W50] define every property they use', () => {
    const defined = new Set([...sheets.matchAll(/(--_[\w-]+):/g)].map(([, name]) => name));
    expect(names.filter((name) => name.startsWith('--_') && !defined.has(name))).toEqual([]);
  });
});
