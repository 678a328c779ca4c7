/** Chromium as an engine among others, without its Background Sync; what only Chromium shows has suites of its own. */
import { describeEngine } from './engines/describe-engine.ts';
import { chromium } from './engines/engines.ts';

describeEngine(chromium);
