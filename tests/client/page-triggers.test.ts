import { describe, expect, it } from 'vitest';
import { listenForTriggers, type ProgressMessage } from '../../client/page-triggers.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';
import { createFakeRealm } from '../support/fake-realm.ts';

function page() {
  const clock = createManualClock();
  const realm = createFakeRealm(clock);
  const end = new AbortController();
  const causes: string[] = [];
  const note = listenForTriggers(realm, end.signal, (cause) => causes.push(cause));
  const progress = (over: Partial<ProgressMessage>): void =>
    note({ type: 'progress', owner: 'ann', running: false, done: 0, total: 0, ...over });
  return { clock, realm, causes, progress, end: () => end.abort() };
}

describe('the triggers only a page sees', () => {
  it('[W20, W22, A12] the connection coming back, the page being looked at again, the way back from the cache', () => {
    const { realm, causes } = page();
    realm.setOnline(false);
    realm.setOnline(true);
    realm.setHidden(true);
    realm.setHidden(false);
    realm.fire('pageshow');
    expect(causes).toEqual(['online', 'visible', 'visible']);
  });

  it('[W20, A77] a wait of the server’s or the engine’s own ends by the page’s timer', async () => {
    const { clock, causes, progress } = page();
    progress({ wakeAt: clock.now() + 60_000 });
    await clock.advance(59_999);
    expect(causes).toEqual([]);
    await clock.advance(1);
    expect(causes).toEqual(['timer']);
    await clock.advance(600_000);
    expect(causes).toEqual(['timer']);
  });

  it('[C4, A21] a clock that is set back does not make the page wait for it', async () => {
    const { clock, causes, progress } = page();
    progress({ wakeAt: clock.now() + 60_000 });
    clock.jump(-86_400_000);
    await clock.advance(60_000);
    expect(causes).toEqual(['timer']);
  });

  it('[A11] a wait that no timer can hold does not go off at once', async () => {
    const { clock, causes, progress } = page();
    progress({ wakeAt: clock.now() + 1e12 });
    await clock.advance(3_600_000);
    expect(causes).toEqual([]);
  });

  it('[W20] a wait that is over already makes no loop', async () => {
    const { clock, causes, progress } = page();
    progress({ wakeAt: clock.now() - 1 });
    await clock.advance(249);
    expect(causes).toEqual([]);
    await clock.advance(1);
    expect(causes).toEqual(['timer']);
  });

  it('[W4] keeps a long drain going by fresh messages, and stops with it', async () => {
    const { clock, causes, progress } = page();
    for (let second = 0; second < 100; second++) {
      progress({ running: true, done: second, total: 1_000 });
      await clock.advance(1_000);
    }
    expect(causes).toEqual(Array(5).fill('timer'));
    progress({ running: false });
    await clock.advance(600_000);
    expect(causes).toHaveLength(5);
  });

  it('[W4] does so too while one slow request tells nothing', async () => {
    const { clock, causes, progress } = page();
    progress({ running: true, done: 0, total: 1 });
    await clock.advance(65_000);
    expect(causes).toEqual(['timer', 'timer', 'timer']);
  });

  it('[A75] leaves no listener and no timer behind', async () => {
    const { clock, realm, causes, progress, end } = page();
    progress({ wakeAt: clock.now() + 1_000 });
    end();
    realm.setOnline(true);
    await clock.advance(10_000);
    expect([causes, realm.listenerCount]).toEqual([[], 0]);
  });
});
