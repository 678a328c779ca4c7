/** Ids are any text (R5); these put them into a URL or a header without changing what they name. */

/**
 * Percent-encodes any text, lone surrogates included (`encodeURIComponent` throws on those): two different texts
 * never become one.
 */
export function encodeText(text: string): string {
  return text
    .split(/([\ud800-\udfff])/u)
    .map((part, place) => (place % 2 === 1 ? encodeSurrogate(part.charCodeAt(0)) : encodeURIComponent(part)))
    .join('');
}

function encodeSurrogate(unit: number): string {
  return [0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 63), 0x80 | (unit & 63)]
    .map((byte) => `%${byte.toString(16).toUpperCase()}`)
    .join('');
}

/** The id cannot be part of this URL; the row that needs it is blocked with this message, and nothing was sent. */
export class UnsafeUrlError extends Error {
  override readonly name = 'UnsafeUrlError';
  readonly code = 'unsafe_url';
}

/**
 * Builds a URL in which every value is encoded, so that an id with a slash in it stays one id:
 * url`/api/workouts/${target}?note=${note}`.
 * @throws UnsafeUrlError for `.` and `..` as a whole path segment, which no encoding keeps.
 */
export function url(parts: TemplateStringsArray, ...values: readonly (string | number | boolean)[]): string {
  const built = parts.map((part, place) => {
    const value = values[place];
    return value === undefined ? part : part + encodeText(String(value));
  });
  const text = built.join('');
  if (values.some((value) => isDots(String(value))) && hasDotSegment(text))
    throw new UnsafeUrlError(`No URL can carry the path segment "." or "..": ${text}`);
  return text;
}

/**
 * Refuses a URL that was built by plain string interpolation from an id that changes its path or query.
 * @throws UnsafeUrlError
 */
export function checkUrl(built: string, target: string): void {
  const isRisky = /[/\\?#%\s\p{Cc}]|[\ud800-\udfff]/u.test(target);
  const isRaw = isRisky && built.includes(target) && !built.includes(encodeText(target));
  if (isRaw || (isDots(target) && hasDotSegment(built)))
    throw new UnsafeUrlError(
      `Build the URL with the url\`…\` template: the id would change its meaning: ${built}`,
    );
}

function isDots(text: string): boolean {
  return /^\.{1,2}$/.test(text);
}

function hasDotSegment(text: string): boolean {
  return /^[^?#]*\/\.{1,2}(?:[/?#]|$)/.test(text);
}
