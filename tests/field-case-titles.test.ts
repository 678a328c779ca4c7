/** The cases made from public bug reports: each has a test whose title names it. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
/** How many there are: A01 to A77. */
const CASES = 77;

function titlesIn(folder: string): readonly string[] {
  return readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(test|e2e)\.ts$/.test(file) || /suite\.ts$/.test(file) || folder === 'e2e')
    .filter((file) => file.endsWith('.ts'))
    .flatMap(
      (file) => readFileSync(`${root}${folder}/${file}`, 'utf8').match(/['`]\[[A-Z0-9, ]+\][^\n]*/g) ?? [],
    );
}

it('[T31] every case of a public bug report is named by the title of a test', () => {
  const titles = ['tests', 'e2e'].flatMap(titlesIn).join('\n');
  const ids = Array.from({ length: CASES }, (_, n) => `A${`${n + 1}`.padStart(2, '0')}`);
  expect(ids.filter((id) => !new RegExp(`\\b${id}\\b`).test(titles))).toEqual([]);
});
