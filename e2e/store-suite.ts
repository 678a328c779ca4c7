/** The row-store suite over a browser's own IndexedDB; bundled and run in Chromium by store.e2e.ts. */
import { createIdbRowStore } from '../sw/storage/idb-row-store.ts';
import { createManualClock } from '../sw/testing/manual-clock.ts';
import { describeRowStore } from '../tests/suites/row-store-suite.ts';
import { uuid } from '../tests/support/commit-fixture.ts';
import { plantRecord, readEverything } from '../tests/support/raw-database.ts';

let databases = 0;

describeRowStore('on IndexedDB', async () => {
  const clock = createManualClock();
  const name = `suite-${databases++}`;
  let made = 0;
  const store = createIdbRowStore(
    { indexedDB, keyRange: IDBKeyRange, clock, timers: clock, ids: { uuid: () => uuid(1_000 + made++) } },
    { name },
  );
  const startedAt = clock.now();
  await store.epoch();
  return {
    store,
    startedAt,
    advance: clock.jump,
    plant: (place, value, id) => plantRecord(indexedDB, name, place, value, id),
    dump: () => readEverything(indexedDB, name),
  };
});
