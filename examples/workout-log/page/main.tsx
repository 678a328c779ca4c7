import { render } from 'preact';
import { type Account, endSession, rememberedAccount } from './account.ts';
import { announce } from './announcer.tsx';
import { App } from './app.tsx';
import { connectSession } from './connect-session.ts';
import { loadEncryptionChoice } from './device-choice.ts';
import { loadOfflineSwitch } from './lab-switch.ts';
import type { Session } from './session.ts';
import { SignIn } from './sign-in.tsx';

const place = document.getElementById('app');

function show(content: Parameters<typeof render>[0]): void {
  if (place) render(content, place);
}

function showSignIn(): void {
  show(<SignIn onSignedIn={(account) => void open(account)} />);
}

async function open(account: Account): Promise<void> {
  let session: Session;
  try {
    session = await connectSession(account);
  } catch (error) {
    show(
      <main class="sign-in">
        <p class="notice notice-bad" role="alert">
          The log cannot be opened here: {error instanceof Error ? error.message : String(error)}
        </p>
      </main>,
    );
    return;
  }
  show(
    <App
      session={session}
      onSignOut={async (policy) => {
        const waiting = await session.signOut(policy);
        // Only now may the cookie change: no request of this account is under way any more.
        await endSession();
        session.close();
        showSignIn();
        const left = waiting.queued + waiting.held + waiting.blocked + waiting.sending;
        if (left > 0 && policy === 'keep') announce(`${left} kept for ${account.name}`);
      }}
    />,
  );
}

await Promise.all([loadOfflineSwitch(), loadEncryptionChoice()]);
const remembered = rememberedAccount();
if (remembered) await open(remembered);
else showSignIn();
