// Writes docs/replace-table.md from the table that the planner runs on; `--check` only says whether it is current.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const path = `${root}/docs/replace-table.md`;

const STANDINGS = {
  unsent: 'unsent',
  refused: 'refused',
  'unsent refused': 'clean',
  'in_flight in_doubt doubtful': 'result unknown',
  'unsent in_flight in_doubt doubtful': 'not refused',
  'unsent refused in_flight in_doubt doubtful': 'any',
};
const ENDS = {
  gone: 'no creation, its refusal or removal known',
  accepted: 'no creation, its receipt known',
  unknown: 'no creation, its end not known here',
};
const VERDICTS = {
  keep: 'it stays; the new row waits for it',
  leave: 'it stays; nobody waits for it',
  remove: 'it goes; one new row takes over',
  answer: 'nothing is written: it stands for the command',
  merge: 'it goes; a creation with the merged body takes its place, under a new id and hash',
  intent: 'it stays; the command becomes an intent behind it',
  drop: 'it goes, and its intents; nothing is written',
  refuse: 'the command is refused; nothing changes',
  write: 'one row is written',
  nothing: 'there is nothing to do',
  convert: "the command is aimed at the server's id, prepared, and judged there as the latest one",
};

function actionOf({ verdict, refusal, on, end, command }) {
  if (refusal) return `\`${refusal}\``;
  if (verdict === 'merge') return '`merged`';
  if (verdict === 'answer') return '`existing`';
  if (verdict === 'drop' || verdict === 'nothing') return '`dropped`';
  const isIntent = on === 'pending' && !command.includes('create') && end !== 'accepted';
  if (verdict === 'intent' || isIntent) return '`intent`';
  return verdict === 'leave' ? '' : '`queued`';
}

function line(rule) {
  const { id, command, earlier, standing, on, end, verdict, folds } = rule;
  const aims = (on === 'pending' || earlier?.includes('create')) && !command.includes('create');
  const isChange = command.some((kind) => kind === 'update' || kind === 'delete');
  const commands = `${command.join(', ')}${aims && isChange ? ' of a pending creation' : ''}`;
  const kind = earlier?.join(' or ');
  const before = earlier
    ? `${kind}${on === 'pending' && kind !== 'create' ? ' intent' : ''}, ${STANDINGS[standing.join(' ')]}`
    : (ENDS[end] ?? 'none');
  const does =
    folds && verdict === 'remove'
      ? `${VERDICTS[verdict]} (folded, where bodies are patches)`
      : VERDICTS[verdict];
  return [id, commands, before, does, actionOf(rule)];
}

export function render(table) {
  const cells = [['id', 'command', 'earlier row of its key', 'does', 'action'], ...table.map(line)];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const rows = cells.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`,
  );
  rows.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  return `# The replace table

Made from \`sw/outbox/replace-table.ts\` by \`npm run docs:table\`; the planner and the tests use the same data. What its
words mean and what surrounds it is in [rows.md](rows.md).

Each earlier row is judged by its own line, and all lines that apply do; a line that refuses wins. R21 and R33 apply only
where that row is the last of its key; with a later row behind it, it stays and the line of the later row decides.
R9 comes before the table: an id that is known is answered (R10) or refused (R11) without it.

${rows.join('\n')}
`;
}

const { outputFiles } = await build({
  entryPoints: [`${root}/sw/outbox/replace-table.ts`],
  bundle: true,
  format: 'esm',
  write: false,
  logLevel: 'error',
});
const module = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
const text = render(module.REPLACE_TABLE);
if (process.argv.includes('--check')) {
  if (readFileSync(path, 'utf8') !== text) {
    console.error('docs/replace-table.md is not current: npm run docs:table');
    process.exitCode = 1;
  }
} else writeFileSync(path, text);
