/** Chromium as one engine of three, with Background Sync refused; what only Chromium shows has suites of its own. */
import { describeEngine } from './engines/describe-engine.ts';
import { chromium } from './engines/engines.ts';

describeEngine(chromium);
