/** A suite about nothing, to prove that suites can run inside a browser; see harness.e2e.ts. */
import { beforeEach, describe, expect, it } from 'vitest';

describe('a suite bundled for a browser', () => {
  let opened: string[] = [];
  beforeEach(() => {
    opened = ['before'];
  });

  it('runs in a page with a real IndexedDB', async () => {
    const databases = await indexedDB.databases();
    expect(databases).toEqual([]);
    expect(opened).toEqual(['before']);
  });

  it('fails asynchronous expectations', async () => {
    await expect(expect(Promise.resolve(1)).resolves.toBe(2)).rejects.toThrow('expected 1 to be 2');
  });

  it.each([
    { when: 'a number', value: 1 },
    { when: 'a list', value: [1, expect.any(Number)] },
  ])('is run for each row: $when', ({ value }) => {
    expect(value).toEqual(Array.isArray(value) ? [1, 1] : 1);
    expect({ value, more: true }).toMatchObject({ value: expect.anything() });
  });
});
