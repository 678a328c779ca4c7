import { openPglite } from '../../../examples/server/database/pglite-database.ts';
import { describeReceiptServer } from '../../suites/receipt-server-suite.ts';

describeReceiptServer('[V6] reference server on PGlite', () => openPglite());
