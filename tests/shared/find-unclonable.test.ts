import { describe, expect, it, test } from 'vitest';
import { findUnclonable } from '../../shared/find-unclonable.ts';

describe('findUnclonable', () => {
  test.each([
    { what: 'a function', value: { a: [1, { fn() {} }] }, path: 'body.a[1].fn' },
    { what: 'a symbol', value: [Symbol('x')], path: 'body[0]' },
    { what: 'a proxy', value: { form: new Proxy({ tags: ['x'] }, {}) }, path: 'body.form' },
    { what: 'a promise in a Map', value: new Map([['k', Promise.resolve()]]), path: 'body["value 0"]' },
    { what: 'a WeakMap in a Set', value: new Set([1, new WeakMap()]), path: 'body[1]' },
    { what: 'a member with a name that needs quotes', value: { 'a b': () => 1 }, path: 'body["a b"]' },
    { what: 'a bare function', value: () => 1, path: 'body' },
  ])('[R46] names the path of $what', ({ value, path }) => {
    expect(findUnclonable(value, structuredClone)).toBe(path);
  });

  it('[R46] ends on a cycle that holds what cannot be cloned', () => {
    const value: Record<string, unknown> = {};
    value['self'] = value;
    value['fn'] = () => 1;
    expect(findUnclonable(value, structuredClone)).toBe('body.fn');
  });
});
