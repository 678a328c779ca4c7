import { describe, expect, it } from 'vitest';
import { afterSeen, failedAlone, GOING_ON, type Seen } from '../../../sw/dispatch/stop-rules.ts';

const fold = (...seen: readonly Seen[]) => seen.reduce(afterSeen, GOING_ON);
const failed = (key: string): Seen => ({ type: 'failed', key });
const noAnswer = (key: string): Seen => ({ type: 'no_answer', key });
const answered: Seen = { type: 'answered' };

describe('stop rules', () => {
  it('[D3] a request without any answer stops new sends', () => {
    expect(fold(answered, noAnswer('a')).stoppedBy).toBe('network');
  });

  it('[D3] three different keys that fail in a row stop the flush, two do not', () => {
    expect(fold(failed('a'), failed('b')).stoppedBy).toBeUndefined();
    expect(fold(failed('a'), failed('b'), failed('c')).stoppedBy).toBe('failures');
    expect(fold(failed('a'), failed('a'), failed('b'), failed('a')).stoppedBy).toBeUndefined();
  });

  it('[D3] an answered request in between starts the count again', () => {
    expect(fold(failed('a'), failed('b'), answered, failed('c'), failed('d')).stoppedBy).toBeUndefined();
  });

  it('[D40] the first reason to stop is the one that is told', () => {
    expect(fold({ type: 'stop', by: 'auth' }, noAnswer('a')).stoppedBy).toBe('auth');
  });

  it('[C32] a lost connection is nobody’s own failure; a key that alone got no answer goes last', () => {
    expect(failedAlone(fold(noAnswer('a'), noAnswer('b')))).toEqual(new Set());
    expect(failedAlone(fold(noAnswer('a')))).toEqual(new Set(['a']));
    expect(failedAlone(fold(noAnswer('a'), answered, noAnswer('b')))).toEqual(new Set(['a', 'b']));
  });
});
