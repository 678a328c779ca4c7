import { describe, expect, it } from 'vitest';
import { followHosts } from '../../client/follow-hosts.ts';
import { hostLockName } from '../../shared/protocol.ts';
import { createFakeLocks } from '../support/fake-locks.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function following() {
  const locks = createFakeLocks();
  const endOwn = locks.hold(hostLockName('own'));
  const endEarlier = locks.hold(hostLockName('earlier'));
  const endOther = locks.hold('a lock of the app');
  let ends = 0;
  const follow = followHosts(
    () => locks,
    'own',
    () => {
      ends++;
    },
  );
  await settled();
  return { locks, follow, endOwn, endEarlier, endOther, ends: () => ends };
}

describe('a page that follows other hosts', () => {
  it('[C6] hears once of the end of one that ran before it, and of nobody else', async () => {
    const { locks, endOwn, endEarlier, endOther, ends } = await following();
    endOther();
    endOwn();
    await settled();
    expect(ends()).toBe(0);
    endEarlier();
    await settled();
    expect(ends()).toBe(1);
    expect(locks.waitingCount).toBe(0);
  });

  it('[C6] hears once of the end of one that was named to it twice', async () => {
    const { locks, follow, ends } = await following();
    const end = locks.hold(hostLockName('later'));
    follow('later');
    follow('later');
    follow('own');
    await settled();
    expect(ends()).toBe(0);
    end();
    await settled();
    expect(ends()).toBe(1);
  });

  it('[C6] keeps nobody else who asks from the lock, before and after', async () => {
    const { locks, endEarlier, ends } = await following();
    endEarlier();
    const taken = await locks.request(hostLockName('earlier'), { mode: 'shared' }, () => 'taken');
    expect([taken, ends()]).toEqual(['taken', 1]);
  });

  it.each([
    { where: 'are missing', readLocks: () => undefined },
    {
      where: 'cannot even be read',
      readLocks: () => {
        throw new DOMException('Opaque', 'SecurityError');
      },
    },
  ])('[C6] goes on without a word where locks $where', async ({ readLocks }) => {
    let ends = 0;
    const follow = followHosts(readLocks, 'own', () => {
      ends++;
    });
    follow('another');
    await settled();
    expect(ends).toBe(0);
  });
});
