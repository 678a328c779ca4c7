import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('[T30] every mutation has one place in the sources and was caught, as docs/proof.md shows', () => {
  const script = fileURLToPath(new URL('../scripts/mutate.mjs', import.meta.url));
  expect(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' })).not.toThrow();
});
