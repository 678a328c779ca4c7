/**
 * Whether what a page gives with a call has the shape that the call takes (W16). Pure. What is inside is judged by
 * whoever uses it; more arguments than a call takes are a later release's, and ignored.
 */
import type { WorkerApi } from '../../shared/protocol.ts';

/**
 * One letter per argument: text, list of texts, number, record, page of a list; a capital may be left out. An owner is
 * anything: who is not signed in hears that.
 */
const TAKES: Readonly<Record<keyof WorkerApi, string>> = {
  hello: 'R',
  signIn: 't',
  signOut: 'tt',
  enqueue: 'rn',
  cancel: 'ot',
  discard: 'ot',
  retry: 'otR',
  recover: 'otR',
  flush: 'o',
  trigger: 't',
  pause: 'o',
  resume: 'o',
  rows: 'op',
  storage: '',
  bodies: 'ol',
  journal: 'oRn',
  settled: 'ot',
  explain: 'ot',
  conflicts: 'o',
  exportOwner: 'o',
  offerSnapshot: 'or',
  readSnapshot: 'oL',
  giveCredentials: 'oR',
};

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null;

function fits(letter: string, value: unknown): boolean {
  switch (letter) {
    case 'o':
      return true;
    case 't':
      return typeof value === 'string';
    case 'n':
      return typeof value === 'number' && !Number.isNaN(value);
    case 'l':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'p':
      return (
        isRecord(value) && fits('n', Reflect.get(value, 'limit')) && fits('N', Reflect.get(value, 'after'))
      );
    case 'r':
      return isRecord(value);
    default:
      return value === undefined || fits(letter.toLowerCase(), value);
  }
}

/** The place of the first argument that does not fit, or `undefined`. */
export function wrongArgument(name: string, given: readonly unknown[]): number | undefined {
  const letters: unknown = Object.hasOwn(TAKES, name) && Reflect.get(TAKES, name);
  if (typeof letters !== 'string') return undefined;
  const place = [...letters].findIndex((letter, at) => !fits(letter, given[at]));
  return place < 0 ? undefined : place;
}
