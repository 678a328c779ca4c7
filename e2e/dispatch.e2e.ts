/** Sending and its answers, in Chromium against the reference server and its fault switches. */
import { describeAccounts } from './dispatch/accounts.ts';
import { describeConflicts } from './dispatch/conflicts.ts';
import { dispatchWorld } from './dispatch/dispatch-world.ts';
import { describeLostAnswers } from './dispatch/lost-answers.ts';
import { describeManyRows } from './dispatch/many-rows.ts';
import { describePages } from './dispatch/pages.ts';
import { describeReceipts } from './dispatch/receipts.ts';
import { describeSameCommand } from './dispatch/same-command.ts';

const world = dispatchWorld();
describeSameCommand(world);
describeLostAnswers(world);
describeReceipts(world);
describeConflicts(world);
describeManyRows(world);
describePages(world);
describeAccounts(world);
