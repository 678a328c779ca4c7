import { describeReceiptServer } from '../../suites/receipt-server-suite.ts';
import { openTestPglite } from '../../support/test-pglite.ts';

describeReceiptServer('[V6] reference server on PGlite', () => openTestPglite());
