import { defineConfig } from 'vitest/config';

const results = process.env['HOLDFAST_RESULTS'];

export default defineConfig({
  test: {
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
    projects: [
      {
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
