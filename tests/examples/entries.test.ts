/** The examples name the package as an app does; on a fresh clone there is nothing built that such a name could find. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const examples = fileURLToPath(new URL('../../examples', import.meta.url));
const named = /['"](holdfast\/[a-z]+)['"]/g;

function sources(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(({ name }) => /\.tsx?$/.test(name) && !name.endsWith('.test.ts'))
    .map(({ name, parentPath }) => readFileSync(join(parentPath, name), 'utf8'));
}

describe('the build of', () => {
  it.each(['workout-log', 'precaching-worker'])(
    '[V8] %s knows every entry that its sources name',
    (example) => {
      const folder = join(examples, example);
      const build = readFileSync(join(folder, 'build.mjs'), 'utf8');
      const entries = new Set(
        sources(folder).flatMap((text) =>
          [...text.matchAll(/(?:from|import\()\s*(['"]holdfast\/[a-z]+['"])/g)].map(([, name = '']) =>
            name.slice(1, -1),
          ),
        ),
      );
      const known = new Set([...build.matchAll(named)].map(([, name]) => name));
      expect(entries.size).toBeGreaterThan(1);
      expect([...entries].filter((entry) => !known.has(entry))).toEqual([]);
    },
  );
});
