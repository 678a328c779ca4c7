/** Every clause has its test, every test a clause's name that is its own; see docs/testing.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

function readBelow(folder: string, ending: string): { readonly file: string; readonly text: string }[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
    .map((name) => ({ file: join(folder, name), text: readFileSync(join(ROOT, folder, name), 'utf8') }));
}

const TITLE = /(['"`])(\[[RCDSWVT]\d+(?:, ?[ARCDSWVT]\d+)*\] (?:\\.|(?!\1).)*)\1/g;

const titles = ['tests', 'e2e', 'examples']
  .flatMap((folder) => readBelow(folder, '.ts'))
  .flatMap(({ file, text }) => [...text.matchAll(TITLE)].map((match) => ({ file, title: match[2] ?? '' })));

describe('test titles', () => {
  it('are each used once', () => {
    const files = new Map<string, string[]>();
    for (const { title, file } of titles) files.set(title, [...(files.get(title) ?? []), file]);
    expect(files.size).toBeGreaterThan(0);
    expect([...files].filter(([, uses]) => uses.length > 1)).toEqual([]);
  });
});
