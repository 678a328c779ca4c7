import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
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
          // One Chromium at a time: the suites measure lifetimes and kill processes.
          fileParallelism: false,
        },
      },
    ],
  },
});
