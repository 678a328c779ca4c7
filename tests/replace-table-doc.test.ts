import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('[T33] docs/replace-table.md is made from the table that the planner runs on', () => {
  const script = fileURLToPath(new URL('../scripts/replace-table.mjs', import.meta.url));
  expect(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' })).not.toThrow();
});
