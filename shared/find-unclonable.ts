/**
 * `structuredClone` and `postMessage` say that a value cannot be cloned, but not where. This finds the path of
 * the smallest part that `clone` refuses, so that a person can mend it (R46): `body.tags[2]`.
 */
export function findUnclonable(value: unknown, clone: (part: unknown) => unknown, path = 'body'): string {
  const seen = new Set<object>();
  const visit = (part: unknown, at: string): string | undefined => {
    if (typeof part !== 'object' || part === null) return refuses(part, clone) ? at : undefined;
    if (seen.has(part)) return undefined;
    seen.add(part);
    if (!refuses(part, clone)) return undefined;
    for (const [step, member] of membersOf(part)) {
      const found = visit(member, `${at}${step}`);
      if (found !== undefined) return found;
    }
    return at;
  };
  return visit(value, path) ?? path;
}

function refuses(part: unknown, clone: (part: unknown) => unknown): boolean {
  try {
    clone(part);
    return false;
  } catch {
    return true;
  }
}

function membersOf(part: object): [step: string, member: unknown][] {
  if (part instanceof Map)
    return [...part].flatMap(([key, member], index): [string, unknown][] => [
      [`["key ${index}"]`, key],
      [`["value ${index}"]`, member],
    ]);
  if (part instanceof Set) return [...part].map((member, index) => [`[${index}]`, member]);
  return Object.entries(part).map(([key, member]) => [
    Array.isArray(part) ? `[${key}]` : /^[\w$]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
    member,
  ]);
}
