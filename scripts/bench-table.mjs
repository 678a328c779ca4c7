// Puts the results of the last full benchmark into docs/benchmarks.md and their summary into README.md, between markers.
// `--check`: fails where one of them does not show the results that are kept.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
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

function figuresOf(metrics) {
  return (id) => {
    if (metrics[id]) return Math.round(metrics[id].value).toLocaleString('en');
    const expected = metrics[`expected_${id}`];
    return expected ? `(${Math.round(expected.value / 1000).toLocaleString('en')} s)` : '–';
  };
}

function table(head, rows) {
  return [head, head.map((_, i) => (i === 0 ? '---' : '---:')), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

/** For people who look once: three figures of each system, and how many budgets are met. */
function summary(budgets, metrics) {
  const value = figuresOf(metrics);
  const rows = Object.entries(SYSTEMS).map(([name, title]) => [
    title,
    ...['save_1000', 'drain_1000_0ms', 'drain_1000_50ms'].map((what) => value(`ms_${name}_${what}`)),
  ]);
  const limited = budgets.filter(({ id, atMost }) => atMost !== undefined && metrics[id]);
  const met = limited.filter(({ id, atMost }) => metrics[id].value <= atMost).length;
  return [
    table(['ms, 1,000 rows of 2 KB', 'saving', 'sending', 'sending, 50 ms of server delay'], rows),
    `${met} of ${limited.length} budgets are met; the others, and what they are made of, are in [docs/benchmarks.md](docs/benchmarks.md).`,
  ].join('\n\n');
}

function sideBySide(metrics) {
  const value = figuresOf(metrics);
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
  return table(
    head,
    Object.entries(SYSTEMS).map(([name, title]) => [title, ...cells(name)]),
  );
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

/** Formatted as the check wants it, so that the same results always make the same document. */
function formatted(file, text) {
  const args = [at('node_modules/@biomejs/biome/bin/biome'), 'format', `--stdin-file-path=${file}`];
  return execFileSync(process.execPath, args, { input: text, encoding: 'utf8', cwd: at('.') });
}

function show(file, parts) {
  const text = readFileSync(at(file), 'utf8');
  const from = text.indexOf(BEGIN);
  const to = text.indexOf(END);
  if (from < 0 || to < from) throw new Error(`${file} has no place for the results`);
  const section = [BEGIN, ...parts, ''].join('\n\n');
  const wanted = formatted(file, text.slice(0, from) + section + text.slice(to));
  if (!process.argv.includes('--check')) writeFileSync(at(file), wanted);
  else if (wanted !== text) {
    console.error(`${file} does not show bench/results.json: npm run docs:bench`);
    process.exitCode = 1;
  }
}

show('docs/benchmarks.md', [
  `Measured on ${machine}, ${when.slice(0, 10)}.`,
  budgetTable(budgets, metrics),
  'Side by side, medians in ms; saving is all at once until the last is stored, the rest is sending so many rows of 2,007 bytes without and with 50 ms of server delay. In brackets what was not run, because it would take minutes: how long it would take, as it grew so far. redux-offline writes its whole list once for all changes of one turn, a moment after them; the others store each change by itself.',
  sideBySide(metrics),
]);
show('README.md', [summary(budgets, metrics)]);
