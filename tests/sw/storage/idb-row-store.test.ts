import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import { createIdbRowStore } from '../../../sw/storage/idb-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { describeRowStore } from '../../suites/row-store-suite.ts';
import { uuid } from '../../support/commit-fixture.ts';
import { plantRecord, readEverything } from '../../support/raw-database.ts';

describeRowStore('on a fake IndexedDB', async () => {
  const clock = createManualClock();
  const indexedDB = new IDBFactory();
  let made = 0;
  const store = createIdbRowStore(
    { indexedDB, keyRange: IDBKeyRange, clock, timers: clock, ids: { uuid: () => uuid(1_000 + made++) } },
    { name: 'holdfast' },
  );
  const startedAt = clock.now();
  await store.epoch();
  return {
    store,
    startedAt,
    advance: clock.jump,
    plant: (place, value, id) => plantRecord(indexedDB, 'holdfast', place, value, id),
    dump: () => readEverything(indexedDB, 'holdfast'),
  };
});
