import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createBrowserEnvironment, createHostLocks, createTimers } from '../../sw/browser-environment.ts';
import { findGoneHosts, takeHostId } from '../../sw/outbox/host-id.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';
import { claimedBy } from '../support/claim-context.ts';
import { createLockOrigin } from '../support/lock-manager.ts';
import { rowFixture } from '../support/row-fixture.ts';

const clock = createManualClock();

function host(origin: ReturnType<typeof createLockOrigin>, name: string) {
  return createHostLocks(origin.realm(name), clock);
}

describe('the lock of a host', () => {
  it('[C6] is held for as long as the host runs, and shows when it is gone', async () => {
    const origin = createLockOrigin();
    expect(await host(origin, 'a').hold('a')).toBe(true);
    expect(await host(origin, 'b').check('a')).toBe('running');
    origin.end('a');
    expect(await host(origin, 'b').check('a')).toBe('gone');
  });

  it('[C6] is asked for in shared mode and given back at once, so that those who ask do not see each other', async () => {
    const origin = createLockOrigin();
    const answers = await Promise.all([host(origin, 'b').check('a'), host(origin, 'c').check('a')]);
    expect(answers).toEqual(['gone', 'gone']);
    expect([...origin.heldBy('b'), ...origin.heldBy('c')]).toEqual([]);
  });

  it('[C6] is unknown where locks are missing, refuse, or take too long', async () => {
    const missing = createHostLocks(undefined, clock);
    expect([await missing.hold('a'), await missing.check('a')]).toEqual([false, 'unknown']);

    const refusing = createHostLocks({ request: () => Promise.reject(new Error('SecurityError')) }, clock);
    expect([await refusing.hold('a'), await refusing.check('a')]).toEqual([false, 'unknown']);

    const slow = createHostLocks({ request: () => new Promise(() => {}) }, clock);
    expect(await clock.until(slow.check('a'), 1_000)).toBe('unknown');
    expect(await clock.until(slow.hold('a'), 1_000)).toBe(false);
  });

  it('[C6] is taken before the id is told; a host without one says so in its id and is never taken for gone', async () => {
    const origin = createLockOrigin();
    const ids = { uuid: () => 'h1' };
    expect(await takeHostId({ ids, locks: host(origin, 'a') })).toBe('h1');
    expect(origin.heldBy('a')).toEqual(['holdfast-host:h1']);

    const bare = await takeHostId({ ids: { uuid: () => 'h2' }, locks: createHostLocks(undefined, clock) });
    const rows = [rowFixture(claimedBy(bare))];
    expect(await findGoneHosts(rows, 'me', host(origin, 'b'))).toEqual(new Set());
  });

  it('[C6] is asked for once per host that is sending, and never for one`s own', async () => {
    const check = vi.fn(
      async (name: string): Promise<'gone' | 'running'> => (name === 'dead' ? 'gone' : 'running'),
    );
    const rows = [
      rowFixture(claimedBy('dead')),
      rowFixture({ id: '2', ...claimedBy('dead') }),
      rowFixture({ id: '3', ...claimedBy('alive') }),
      rowFixture({ id: '4', ...claimedBy('me') }),
      rowFixture({ id: '5', claim: { host: 'before', expiresAt: 1, fence: 1 } }),
    ];
    const gone = await findGoneHosts(rows, 'me', { hold: async () => true, check });
    expect(gone).toEqual(new Set(['dead']));
    expect(check.mock.calls.map(([name]) => name)).toEqual(['dead', 'alive']);
  });
});

describe('what a browser gives', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('hashes as SHA-256 in lower-case hex', async () => {
    const { digest } = createBrowserEnvironment();
    expect(await digest.sha256(new TextEncoder().encode('abc'))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  it('[R4] hashes small and large the same, whoever does it', async () => {
    const { digest } = createBrowserEnvironment();
    for (const length of [4_096, 4_097]) {
      const bytes = new Uint8Array(length).map((_, i) => i & 255);
      expect(await digest.sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
    }
  });

  it('makes ids that are UUIDs and differ', () => {
    const { ids } = createBrowserEnvironment();
    expect(ids.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids.uuid()).not.toBe(ids.uuid());
    expect(ids.random()).toBeLessThan(1);
  });

  it('[C4] does not let a wait that is too long for a timer go off at once', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const calls: string[] = [];
    const timers = createTimers();
    timers.after(2 ** 40, () => calls.push('long'));
    timers.after(-5, () => calls.push('now'));
    timers.after(50, () => calls.push('cancelled'))();
    vi.advanceTimersByTime(1_000_000);
    expect(calls).toEqual(['now']);
  });
});
