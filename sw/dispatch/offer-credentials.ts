/** Asks the credentials port within its time limit and reads what it says (W30, W31, D4). */
import type { Timers } from '../environment.ts';
import type { Credentials } from './credentials.ts';
import { withinLimit } from './time-limit.ts';

export type Offered =
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  /** Nobody is signed in, or somebody else is. */
  | { readonly type: 'none' }
  /** The port threw, took too long or answered nonsense: the flush stops, and nobody is taken for signed out. */
  | { readonly type: 'failed' };

export async function offerCredentials(
  credentials: Credentials,
  owner: string,
  wasRefused: boolean,
  limits: { readonly timers: Timers; readonly appLimitMs: number },
): Promise<Offered> {
  try {
    const offer: unknown = await withinLimit(limits.timers, limits.appLimitMs, () =>
      credentials.offer(owner, wasRefused),
    );
    if (typeof offer !== 'object' || offer === null) return { type: 'failed' };
    const type: unknown = Reflect.get(offer, 'type');
    if (type === 'none') return { type };
    const headers: unknown = Reflect.get(offer, 'headers');
    if (type !== 'headers' || typeof headers !== 'object' || headers === null) return { type: 'failed' };
    const account: unknown = Reflect.get(offer, 'account');
    // W30: a cookie of another account would write one person's changes as another's.
    if (account !== undefined && account !== owner) return { type: 'none' };
    const texts = Object.entries(headers).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    return { type, headers: Object.fromEntries(texts) };
  } catch {
    return { type: 'failed' };
  }
}

export function sameHeaders(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
