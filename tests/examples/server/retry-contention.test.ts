/** What becomes of the database's own errors (V6): repeated, or translated; never leaked. */
import { describe, expect, it } from 'vitest';
import {
  DatabaseBusyError,
  DatabaseContentionError,
  DatabaseFailedError,
  DatabaseUnavailableError,
  DatabaseValueError,
} from '../../../examples/server/database/database.ts';
import { retryContention } from '../../../examples/server/database/retry-contention.ts';
import { translateDatabaseError } from '../../../examples/server/database/translate-error.ts';

const sqlError = (code: string) => Object.assign(new Error('raw words of the database'), { code });

describe('contention', () => {
  it.each(['40001', '40P01'])(
    '[V6] runs a transaction again after %s, waiting longer each time',
    async (code) => {
      const pauses: number[] = [];
      let runs = 0;
      const result = await retryContention(
        async () => {
          runs += 1;
          if (runs < 4) throw sqlError(code);
          return 'done';
        },
        { attempts: 5, pause: async (n) => void pauses.push(n) },
      );
      expect([result, runs, pauses]).toEqual(['done', 4, [2, 3, 4]]);
    },
  );

  it('[V6] gives up after its attempts with an error of its own that keeps the cause', async () => {
    let runs = 0;
    const failing = retryContention(
      async () => {
        runs += 1;
        throw sqlError('40001');
      },
      { attempts: 3, pause: async () => undefined },
    );
    const error = await failing.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(DatabaseContentionError);
    expect(error).toMatchObject({ message: expect.not.stringContaining('raw'), cause: { code: '40001' } });
    expect(runs).toBe(3);
  });

  it('[V6] runs nothing again that failed for another reason, or in the application', async () => {
    for (const error of [sqlError('23505'), new Error('of the application')]) {
      let runs = 0;
      const failing = retryContention(
        async () => {
          runs += 1;
          throw error;
        },
        { attempts: 3, pause: async () => undefined },
      );
      await expect(failing).rejects.toThrow();
      expect(runs).toBe(1);
    }
  });

  it.each([
    { code: '55P03', type: DatabaseBusyError },
    { code: '22021', type: DatabaseValueError },
    { code: '22P05', type: DatabaseValueError },
    { code: '57P01', type: DatabaseUnavailableError },
    { code: '53300', type: DatabaseUnavailableError },
    { code: '08006', type: DatabaseUnavailableError },
    { code: 'ECONNREFUSED', type: DatabaseUnavailableError },
    { code: '23505', type: DatabaseFailedError },
    { code: '42P01', type: DatabaseFailedError },
  ])('[V6] translates $code', ({ code, type }) => {
    const error = translateDatabaseError(sqlError(code));
    expect(error).toBeInstanceOf(type);
    expect(error.message).not.toContain('raw words');
  });

  it("[V6] leaves the application's own errors as they are", () => {
    const own = new Error('own');
    expect(translateDatabaseError(own)).toBe(own);
  });
});
