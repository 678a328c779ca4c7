/** The frame: header, the log, and beside or behind it the outbox and the lab. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { DEMO_ACCOUNTS, startSession } from './account.ts';
import { AccountMenu } from './account-menu.tsx';
import { Announcer, announce } from './announcer.tsx';
import { Icon, type IconName, Mark } from './icons.tsx';
import { LabPanel } from './lab-panel.tsx';
import { LogView } from './log-view.tsx';
import { headlineOf, OutboxPanel } from './outbox-panel.tsx';
import type { Session, SignOutPolicy } from './session.ts';
import { useReadable } from './store.ts';
import { SupportView } from './support-view.tsx';

type Place = 'log' | 'outbox' | 'lab' | 'support';

const PLACES: readonly { readonly place: Place; readonly label: string; readonly icon: IconName }[] = [
  { place: 'log', label: 'Log', icon: 'list' },
  { place: 'outbox', label: 'Outbox', icon: 'stack' },
  { place: 'lab', label: 'Lab', icon: 'flask' },
  { place: 'support', label: 'Support', icon: 'gauge' },
];

interface AppProps {
  readonly session: Session;
  readonly onSignOut: (policy: SignOutPolicy) => Promise<void>;
}

export function App({ session, onSignOut }: AppProps): JSX.Element {
  const [place, setPlace] = useState<Place>('log');
  const status = useReadable(session.status);
  const { counts } = status;
  const count = counts.queued + counts.sending + counts.held + counts.blocked;
  const open = (next: Place): void => {
    setPlace(next);
    window.scrollTo({ top: 0 });
  };
  const mood = counts.blocked > 0 ? 'blocked' : counts.held > 0 ? 'held' : count > 0 ? 'waiting' : 'done';

  return (
    <div class="frame" data-place={place}>
      <a class="skip-link" href="#main">
        Skip to the log
      </a>
      <header class="header">
        <div class="brand">
          <Mark />
          <h1>Basement Log</h1>
        </div>
        <button type="button" class={`status status-${mood}`} onClick={() => setPlace('outbox')}>
          <Icon name={status.isOnline ? 'cloud' : 'cloudOff'} />
          <span>{headlineOf(status)}</span>
          <span class="visually-hidden">{status.isOnline ? ', connected' : ', no connection'}</span>
        </button>
        <AccountMenu session={session} onSignOut={onSignOut} />
      </header>
      {counts.held > 0 && <SignInAgain session={session} held={counts.held} />}
      <main id="main" class="main" tabIndex={-1}>
        <div class="pane pane-log">
          <LogView session={session} />
        </div>
        <div class="pane pane-outbox">
          <OutboxPanel session={session} onSupport={() => open('support')} />
        </div>
        <div class="pane pane-lab">
          <LabPanel session={session} />
        </div>
        {place === 'support' && (
          <div class="pane pane-support">
            <SupportView session={session} onClose={() => open('log')} />
          </div>
        )}
      </main>
      <nav class="tabs" aria-label="Views">
        {PLACES.map((one) => (
          <button
            key={one.place}
            type="button"
            aria-current={place === one.place ? 'page' : undefined}
            onClick={() => open(one.place)}
          >
            <Icon name={one.icon} />
            <span>{one.label}</span>
            {one.place === 'outbox' && count > 0 && <b class={`tab-count tab-count-${mood}`}>{count}</b>}
          </button>
        ))}
      </nav>
      <Announcer />
    </div>
  );
}

function SignInAgain({ session, held }: { readonly session: Session; readonly held: number }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const { account } = session;

  async function signIn(): Promise<void> {
    const known = DEMO_ACCOUNTS.find(({ id }) => id === account.id);
    if (known === undefined) return;
    setBusy(true);
    try {
      await startSession(known.id, known.password);
      await session.signedInAgain();
    } catch {
      announce('The server cannot be reached', 'bad');
    } finally {
      setBusy(false);
    }
  }

  return (
    <section class="banner" aria-label="Sign-in needed">
      <p>
        <Icon name="lock" />
        {held === 1 ? '1 change is' : `${held} changes are`} held until {account.name} signs in again.
      </p>
      <button type="button" class="button button-small" disabled={isBusy} onClick={() => void signIn()}>
        Sign in
      </button>
    </section>
  );
}
