import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Account, DEMO_ACCOUNTS, startSession } from './account.ts';
import { Mark } from './icons.tsx';

export function SignIn({ onSignedIn }: { readonly onSignedIn: (account: Account) => void }): JSX.Element {
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState<string>();

  async function signIn(id: string, password: string): Promise<void> {
    setBusy(id);
    setProblem(undefined);
    try {
      onSignedIn(await startSession(id, password));
    } catch (error) {
      setProblem(
        error instanceof TypeError
          ? 'The server cannot be reached. The first sign-in needs a connection.'
          : String(error),
      );
    } finally {
      setBusy(undefined);
    }
  }

  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Mark />
        <h1>Basement Log</h1>
        <p class="lead">Log a workout where there is no signal. It arrives once there is.</p>
        <h2 class="over">Who is training?</h2>
        <ul class="accounts">
          {DEMO_ACCOUNTS.map(({ id, name, password }) => (
            <li key={id}>
              <button
                type="button"
                class="account-button"
                disabled={busy !== undefined}
                onClick={() => void signIn(id, password)}
              >
                <span class={`avatar avatar-${id}`} aria-hidden="true">
                  {name[0]}
                </span>
                <span>{busy === id ? 'Signing in…' : name}</span>
              </button>
            </li>
          ))}
        </ul>
        {problem !== undefined && (
          <p class="notice notice-bad" role="alert">
            {problem}
          </p>
        )}
        <p class="small">Two demo accounts; their changes never meet.</p>
      </div>
    </main>
  );
}
