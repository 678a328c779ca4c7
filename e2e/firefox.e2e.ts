/** Firefox ESR with the real worker, page and reference server. */
import { describeEngine } from './engines/describe-engine.ts';
import { firefox } from './engines/engines.ts';

describeEngine(firefox);
