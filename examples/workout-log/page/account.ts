/**
 * Who is signed in. The server's cookie is the credential; this page only remembers the name, so that the log
 * opens without a connection.
 */
import { fetchHere } from './lab-switch.ts';

export interface Account {
  readonly id: string;
  readonly name: string;
}

/** The demo's two accounts; a real app asks for a password and keeps none in its source. */
export const DEMO_ACCOUNTS = [
  { id: 'ada', name: 'Ada', password: 'lovelace' },
  { id: 'grace', name: 'Grace', password: 'hopper' },
] as const;

const REMEMBERED = 'basement-log:account';

export function rememberedAccount(): Account | undefined {
  const text = localStorage.getItem(REMEMBERED);
  return text === null ? undefined : (JSON.parse(text) as Account);
}

/** @throws TypeError without a connection; Error with the server's words where it refuses */
export async function startSession(id: string, password: string): Promise<Account> {
  const response = await fetchHere('/api/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ account: id, password }),
  });
  if (!response.ok) throw new Error(`Signing in failed (${response.status})`);
  const { account } = (await response.json()) as { readonly account: Account };
  localStorage.setItem(REMEMBERED, JSON.stringify(account));
  return account;
}

/** Forgets the account here and, if it can be reached, at the server. */
export async function endSession(): Promise<void> {
  localStorage.removeItem(REMEMBERED);
  await fetchHere('/api/session', { method: 'DELETE' }).catch(() => undefined);
}

/** The account the cookie belongs to; `undefined` where it belongs to none, or the server cannot be asked. */
export async function readSession(): Promise<Account | undefined> {
  const response = await fetchHere('/api/session').catch(() => undefined);
  if (!response?.ok) return undefined;
  const { account } = (await response.json()) as { readonly account: Account };
  return account;
}
