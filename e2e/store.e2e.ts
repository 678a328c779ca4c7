import { runSuiteInBrowser } from './support/run-suite-in-browser.ts';

await runSuiteInBrowser({ name: 'in Chromium', entry: 'e2e/store-suite.ts' });
