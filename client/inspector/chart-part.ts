/**
 * Depth and throughput as a picture, in a sentence, and as a table. A chunk of its own, which follows the first drawing
 * by itself: there is nothing to draw before a second look.
 */

import { drawChart, minutesOf, STEPS_PER_MINUTE, type Tick } from './chart.ts';
import { CHART_STYLES } from './chart-styles.ts';
import { CHART_ENGLISH, type ChartWords } from './chart-words.ts';
import type { ChartPart, Model } from './model.ts';
import { h, type VNode } from './vnode.ts';
import type { InspectorWords } from './words.ts';

export { CHART_STYLES };

/** `given`: texts in place of the English ones. */
export function createChartPart(given: Partial<InspectorWords>): ChartPart {
  const words = { ...CHART_ENGLISH, ...given };
  return { viewChart: (model) => viewChart(model, words) };
}

function viewChart({ steps, chartWidth, format }: Model, words: ChartWords): VNode {
  const chart = drawChart(steps, chartWidth);
  const { width, height, left, end } = chart;
  const depths = steps.map(({ depth = 0 }) => depth);
  const sent = steps.reduce((sum, step) => sum + step.sent, 0);
  const text = (at: Tick, label: string): VNode =>
    h('text', { x: left - 8, y: at.at + 3.5, 'text-anchor': 'end' }, label);
  const scale = (ticks: readonly Tick[]): readonly VNode[] => [
    ...ticks.map(({ at, value }) =>
      h('line', { class: value === 0 ? 'base' : 'grid', x1: left, x2: width - 8, y1: at, y2: at }),
    ),
    ...ticks.map((tick) => text(tick, format.count(tick.value))),
  ];

  return h(
    'figure',
    { class: 'chart panel', part: 'chart panel' },
    h('figcaption', {}, h('h3', {}, words.history)),
    h(
      'svg',
      {
        class: 'plot',
        role: 'img',
        'aria-label': words.chartSays(depths.at(-1) ?? 0, Math.max(0, ...depths), sent),
        viewBox: `0 0 ${width} ${height}`,
        height,
      },
      h('text', { class: 'name', x: left, y: chart.depthTop - 12 }, words.depth),
      h('g', {}, scale(chart.depthTicks)),
      h('path', { class: 'area', d: chart.area }),
      h('path', { class: 'line', d: chart.line }),
      end && h('circle', { class: 'end', cx: end.x, cy: end.y, r: 4 }),
      h('text', { class: 'name', x: left, y: chart.sentTop - 10 }, words.perStep(60 / STEPS_PER_MINUTE)),
      h('g', {}, scale(chart.sentTicks)),
      h(
        'g',
        { class: 'bars' },
        chart.bars.map((bar) => h('rect', { ...bar, rx: Math.min(2, bar.width / 2) })),
      ),
      h(
        'g',
        {},
        chart.times.map(({ at, value }, place) =>
          h(
            'text',
            { x: at, y: height - 4, 'text-anchor': place === 0 ? 'end' : 'middle' },
            value === 0 ? words.now : words.ago(value),
          ),
        ),
      ),
    ),
    h(
      'details',
      {},
      h('summary', {}, words.asTable),
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            [words.minute, words.depth, words.throughput].map((name) => h('th', { scope: 'col' }, name)),
          ),
        ),
        h(
          'tbody',
          {},
          minutesOf(steps).map((minute) =>
            h(
              'tr',
              {},
              h('th', { scope: 'row' }, minute.ago === 0 ? words.now : words.ago(minute.ago)),
              h('td', {}, minute.depth === undefined ? words.none : format.count(minute.depth)),
              h('td', {}, format.count(minute.sent)),
            ),
          ),
        ),
      ),
    ),
  );
}
