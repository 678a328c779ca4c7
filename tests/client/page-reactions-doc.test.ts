import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PAGE_REACTIONS, type StepName } from '../../client/page-reactions.ts';
import type { CommandKind } from '../../shared/row.ts';

const doc = readFileSync(new URL('../../docs/page-reactions.md', import.meta.url), 'utf8');
const cells = (line: string) => line.split('|').map((cell) => cell.trim());
const words = (cell = '') => cell.split(', ').filter((word) => word !== '');

it('[D42] the table of docs/page-reactions.md is the one that runs', () => {
  const lines = doc.split('\n').filter((line) => /^\| \w+ +\| (any|[a-z, ]+) +\|/.test(line));
  const documented = Object.fromEntries(
    Object.keys(PAGE_REACTIONS).map((name) => {
      const own = lines.map(cells).filter(([, outcome]) => outcome === name);
      const byKind = own.flatMap(([, , kinds, steps]) =>
        words(kinds).map((kind) => [kind, words(steps)] as const),
      );
      return [name, byKind[0]?.[0] === 'any' ? byKind[0][1] : Object.fromEntries(byKind)];
    }),
  );
  expect(documented).toEqual(PAGE_REACTIONS);
});

it('[D42] docs/page-reactions.md explains every step', () => {
  const lines: readonly (readonly StepName[] | Readonly<Record<CommandKind, readonly StepName[]>>)[] =
    Object.values(PAGE_REACTIONS);
  const steps = new Set(lines.flatMap((line) => ('create' in line ? Object.values(line).flat() : line)));
  for (const step of [...steps, 'connection_down']) expect(doc).toMatch(new RegExp(`^\\| ${step} +\\|`, 'm'));
});
