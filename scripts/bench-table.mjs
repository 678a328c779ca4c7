// Puts the results of the last full benchmark into docs/benchmarks.md, between its two markers.
// `--check`: fails where the document does not show the results that are kept.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const DOCUMENT = at('docs/benchmarks.md');
const BEGIN = '<!-- results: npm run docs:bench -->';
const END = '<!-- /results -->';

async function readBudgets() {
  const { outputFiles } = await build({
    entryPoints: [at('bench/common/metrics.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
  });
  const code = Buffer.from(outputFiles[0].contents).toString('base64');
  return (await import(`data:text/javascript;base64,${code}`)).BUDGETS;
}

const SYSTEMS = {
  bare_c6: 'bare fetch loop, 6 at once',
  holdfast: 'Holdfast',
  workbox: 'workbox-background-sync',
  offline_transactions: '@tanstack/offline-transactions',
  redux_offline: 'redux-offline with localForage',
};

function sideBySide(metrics) {
  const value = (id) => {
    if (metrics[id]) return Math.round(metrics[id].value).toLocaleString('en');
    const expected = metrics[`expected_${id}`];
    return expected ? `(${Math.round(expected.value / 1000).toLocaleString('en')} s)` : '–';
  };
  const cells = (name) => {
    const drains = [0, 50].flatMap((delay) =>
      [1, 100, 1000, 10000].map((rows) => value(`ms_${name}_drain_${rows}_${delay}ms`)),
    );
    return [value(`ms_${name}_save_1000`), ...drains];
  };
  const head = [
    'ms',
    'save 1,000',
    ...['1', '100', '1,000', '10,000'],
    ...['1', '100', '1,000', '10,000'].map((n) => `${n} at 50 ms`),
  ];
  return [
    head,
    head.map((_, i) => (i === 0 ? '---' : '---:')),
    ...Object.entries(SYSTEMS).map(([name, title]) => [title, ...cells(name)]),
  ]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

function budgetTable(budgets, metrics) {
  const rows = budgets.flatMap(({ id, what, unit, atMost }) => {
    const metric = metrics[id];
    if (!metric) return [];
    const verdict = atMost === undefined ? 'reported' : metric.value <= atMost ? 'met' : '**missed**';
    const spread = metric.n > 1 ? `${metric.min} to ${metric.max} (${metric.n})` : '';
    return `| \`${id}\` | ${what} | ${metric.value} ${unit === 'ratio' || unit === 'count' ? '' : unit} | ${spread} | ${atMost === undefined ? '' : `≤ ${atMost}`} | ${verdict} |`;
  });
  return ['| id | what | median | spread (runs) | budget | |', '|---|---|---:|---|---:|---|', ...rows].join(
    '\n',
  );
}

const { machine, at: when, metrics } = JSON.parse(readFileSync(at('bench/results.json'), 'utf8'));
const budgets = await readBudgets();
const section = [
  BEGIN,
  `Measured on ${machine}, ${when.slice(0, 10)}.`,
  budgetTable(budgets, metrics),
  'Side by side, medians in ms; saving is all at once until the last is stored, the rest is sending so many rows of 2,007 bytes without and with 50 ms of server delay. In brackets what was not run, because it would take minutes: how long it would take, as it grew so far. redux-offline writes its whole list once for all changes of one turn, a moment after them; the others store each change by itself.',
  sideBySide(metrics),
  END,
].join('\n\n');
const text = readFileSync(DOCUMENT, 'utf8');
const before = text.slice(0, text.indexOf(BEGIN));
const after = text.slice(text.indexOf(END) + END.length);
const wanted = before + section + after;
if (!process.argv.includes('--check')) writeFileSync(DOCUMENT, wanted);
else if (wanted !== text) {
  console.error('docs/benchmarks.md does not show bench/results.json: npm run docs:bench');
  process.exitCode = 1;
}
