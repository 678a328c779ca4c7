import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** The examples name the package as an app does; here that is the sources. */
const entry = (name: string, file: string) => ({
  find: `holdfast/${name}`,
  replacement: fileURLToPath(new URL(file, import.meta.url)),
});
const alias = [entry('shared', 'shared/index.ts'), entry('testing', 'sw/testing/index.ts')];

const results = process.env['HOLDFAST_RESULTS'];

export default defineConfig({
  test: {
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
    projects: [
      {
        resolve: { alias },
        test: { name: 'unit', include: ['tests/**/*.test.ts', 'examples/**/*.test.ts'], testTimeout: 20_000 },
      },
      {
        test: {
          name: 'browser',
          include: ['e2e/**/*.e2e.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // A browser publishes once per frame and a busy machine misses some; what fails three times is wrong.
          retry: 2,
          // One Chromium at a time: the suites measure lifetimes and kill processes.
          fileParallelism: false,
          // After the unit tests, not beside them: lifetimes are measured on a machine that is not busy.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
