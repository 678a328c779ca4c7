import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { checkUrl, encodeText, UnsafeUrlError, url } from '../../../sw/dispatch/url.ts';

const ODD = [
  'a/b',
  '../x',
  'a?b#c',
  '%2F',
  'a|b',
  'pending:x',
  '__proto__',
  'é 😀',
  'a\ud800',
  'a\udc00',
  '\\',
  '\n',
];

describe('text in a URL', () => {
  it('[R5] A27 of any kind is encoded, lone surrogates too, and never two alike', () => {
    expect(new Set(ODD.map(encodeText)).size).toBe(ODD.length);
    expect(encodeText('a\ud800')).toBe('a%ED%A0%80');
    expect(encodeText('a\udc00')).toBe('a%ED%B0%80');
    expect(encodeText('😀')).toBe(encodeURIComponent('😀'));
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(encodeText(a) === encodeText(b)).toBe(a === b);
        expect(encodeText(a)).toMatch(/^[\w.!~*'()%-]*$/);
      }),
    );
  });

  it('[R5] A27 stays one path segment', () => {
    for (const target of ODD) {
      const { pathname, search, hash } = new URL(url`/api/workouts/${target}`, 'https://x.test');
      expect(pathname.split('/')).toHaveLength(4);
      expect(search + hash).toBe('');
    }
    expect(url`/a/${1}?ok=${true}&n=${'a&b'}`).toBe('/a/1?ok=true&n=a%26b');
    expect(url`/api/workouts`).toBe('/api/workouts');
  });

  test.each(['.', '..'])('[R5] is refused as the whole segment %o, which no encoding keeps', (target) => {
    expect(() => url`/api/workouts/${target}`).toThrow(UnsafeUrlError);
    expect(() => url`/api/workouts/${target}/notes?x=1`).toThrow(UnsafeUrlError);
    expect(url`/api/workouts?of=${target}`).toBe(`/api/workouts?of=${target}`);
    expect(url`/api/workouts/w${target}`).toBe(`/api/workouts/w${target}`);
  });
});

describe('a URL built by plain interpolation', () => {
  it('[R5] is refused where the id would change what it names', () => {
    for (const target of ['a/b', '../x', 'a?b', 'a#b', '%41', 'a\\b', 'a b', 'a\ud800', '.', '..'])
      expect(() => checkUrl(`/api/workouts/${target}`, target), target).toThrow(UnsafeUrlError);
  });

  it('[R5] is taken where the id is harmless, encoded or not in it at all', () => {
    for (const target of ['w1', 'a|b', 'é', '__proto__', 'pending:x', '2026-11-30', 'a.b'])
      expect(() => checkUrl(`/api/workouts/${target}`, target)).not.toThrow();
    for (const target of ['/', '%', 'a/b', '..x'])
      expect(() => checkUrl(url`/api/workouts/${target}`, target)).not.toThrow();
    expect(() => checkUrl('/api/workouts', 'a/b')).not.toThrow();
  });
});
