import { describe, expect, it } from 'vitest';
import { decodeError, encodeError } from '../../shared/error-transfer.ts';
import * as errors from '../../shared/errors.ts';

const {
  BadInputError,
  EnqueueUnknownError,
  HoldfastError,
  InvalidBodyError,
  NoHostError,
  QuotaError,
  RefusedError,
  TryAgainError,
  UnknownRowError,
} = errors;
const BASES = [HoldfastError, BadInputError, RefusedError, TryAgainError];
const CLASSES = Object.values(errors).filter((Class) => !BASES.some((Base) => Base === Class));

const cross = (thrown: unknown): unknown => decodeError(structuredClone(encodeError(thrown)));

describe('errors across the line', () => {
  it.each(CLASSES)('[W15] %o keeps class, code, message and data', (Class) => {
    const { code } = Reflect.construct(Class, ['']);
    const crossed = cross(Reflect.construct(Class, ['what was wrong', { id: 'i1', list: [1, 'two'] }]));
    expect(crossed).toBeInstanceOf(Class);
    expect(crossed).toMatchObject({ code, message: 'what was wrong', data: { id: 'i1', list: [1, 'two'] } });
    expect(CLASSES.filter((Other) => crossed instanceof Other)).toEqual([Class]);
  });

  it.each([
    { error: new QuotaError('a'), is: [HoldfastError, TryAgainError] },
    { error: new InvalidBodyError('b'), is: [HoldfastError, BadInputError] },
    { error: new UnknownRowError('c'), is: [HoldfastError, RefusedError] },
    { error: new EnqueueUnknownError('d'), is: [HoldfastError] },
  ])('[W15] $error.code keeps its base class, so that one cure fits all of it', ({ error, is }) => {
    expect(BASES.filter((Base) => error instanceof Base)).toEqual(is);
    expect(BASES.filter((Base) => cross(error) instanceof Base)).toEqual(is);
  });

  it.each([
    new Error('plain'),
    undefined,
    null,
    'quota',
    { code: 'quota' },
    new DOMException('', 'QuotaExceededError'),
  ])('[W15] %o is none of Holdfast’s errors', (value) => {
    expect([...CLASSES, ...BASES].filter((Class) => value instanceof Class)).toEqual([]);
  });

  it('[W15] the name of a class does not depend on what a minifier called it', () => {
    class X extends QuotaError {}
    expect(new X('full').name).toBe('QuotaError');
    expect(String(cross(new QuotaError('full')))).toBe('QuotaError: full');
  });

  it('[W15] a cause and its base class survive', () => {
    const crossed = cross(new QuotaError('full', {}, { cause: new UnknownRowError('inner', { id: 'x' }) }));
    expect(crossed).toBeInstanceOf(TryAgainError);
    expect(crossed).toHaveProperty('cause.code', 'unknown_row');
    expect(crossed).toHaveProperty('cause.data', { id: 'x' });
  });

  it('[W15] data that cannot be cloned becomes plain data', () => {
    const circular: Record<string, unknown> = { fn: () => 1, key: Symbol('s'), big: 1n };
    circular['self'] = circular;
    const issues = [{ message: 'no', path: [Symbol('p'), { key: 'a' }] }];
    const crossed = cross(new InvalidBodyError('bad', { circular, issues, cause: new TypeError('t') }));
    expect(crossed).toHaveProperty('data.issues', [{ message: 'no', path: ['Symbol(p)', { key: 'a' }] }]);
    expect(crossed).toHaveProperty('data.circular.big', '1');
    expect(crossed).toHaveProperty('data.cause', { name: 'TypeError', message: 't' });
  });

  it.each([
    { when: 'a foreign error', thrown: new RangeError('far'), is: { name: 'RangeError', message: 'far' } },
    {
      when: 'a foreign error that cannot be cloned',
      thrown: Object.assign(new Error('odd'), { fn: () => 1 }),
      is: { name: 'Error', message: 'odd' },
    },
  ])('[W15] $when keeps name and message', ({ thrown, is }) => {
    const crossed = cross(thrown);
    expect(crossed).toBeInstanceOf(Error);
    expect(crossed).toMatchObject(is);
  });

  it.each([
    { thrown: 'text', is: 'text' },
    { thrown: undefined, is: undefined },
    { thrown: { reason: 1, fn() {} }, is: { reason: 1, fn: expect.stringContaining('fn') } },
    {
      thrown: new Proxy(
        {},
        {
          ownKeys() {
            throw new Error('trap');
          },
        },
      ),
      is: {},
    },
  ])('[W15] a thrown value that is no error arrives as plain data ($is)', ({ thrown, is }) => {
    expect(cross(thrown)).toEqual(is);
  });

  it('[W14, W15] an error of a newer release keeps code, data and cure although it has no class here', () => {
    const wire = encodeError(new NoHostError('later', { a: 1 }));
    if (!wire.isError || !wire.holdfast) throw new Error('encoded as something else');
    const arrived = decodeError({ ...wire, holdfast: { ...wire.holdfast, code: 'newer' } });
    expect(arrived).toMatchObject({ name: 'NewerError', code: 'newer', data: { a: 1 } });
    expect(arrived).toBeInstanceOf(TryAgainError);
    expect(arrived).not.toBeInstanceOf(NoHostError);
  });
});
