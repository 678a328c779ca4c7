import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('[W17] docs/reference.md is made from the docstrings (npm run docs:api)', () => {
  const script = fileURLToPath(new URL('../scripts/api-reference.mjs', import.meta.url));
  expect(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' })).not.toThrow();
});
