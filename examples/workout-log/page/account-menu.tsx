/** Who is signed in, and the way out, which says what would be left behind. */
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { chooseEncryption, encryptionChoice } from './device-choice.ts';
import { Icon } from './icons.tsx';
import type { Session, SignOutPolicy } from './session.ts';
import { useReadable } from './store.ts';

interface AccountMenuProps {
  readonly session: Session;
  readonly onSignOut: (policy: SignOutPolicy) => Promise<void>;
}

export function AccountMenu({ session, onSignOut }: AccountMenuProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const { counts } = useReadable(session.status);
  const isEncrypted = useReadable(encryptionChoice);
  const [policy, setPolicy] = useState<SignOutPolicy>('keep');
  const [isBusy, setBusy] = useState(false);
  const { account } = session;
  const left = counts.queued + counts.sending + counts.held;
  const total = left + counts.blocked;

  async function signOut(): Promise<void> {
    setBusy(true);
    await onSignOut(total === 0 ? 'keep' : policy);
    setBusy(false);
    dialog.current?.close();
  }

  return (
    <>
      <button
        type="button"
        class="avatar-button"
        aria-label={`Account: ${account.name}`}
        aria-haspopup="dialog"
        onClick={() => dialog.current?.showModal()}
      >
        <span class={`avatar avatar-${account.id}`} aria-hidden="true">
          {account.name[0]}
        </span>
      </button>
      <dialog ref={dialog} class="sheet" aria-labelledby="sign-out-title">
        <div class="sheet-head">
          <h2 id="sign-out-title">Signed in as {account.name}</h2>
          <button
            type="button"
            class="icon-button"
            aria-label="Close"
            onClick={() => dialog.current?.close()}
          >
            <Icon name="close" />
          </button>
        </div>
        <label class="policy">
          <input
            type="checkbox"
            checked={isEncrypted}
            onChange={(event) => void chooseEncryption(event.currentTarget.checked)}
          />
          <span>
            <b>Encrypt on this device</b>
            <span class="small">
              What you save from now on, while it waits. Throwing it away destroys the key.
            </span>
          </span>
        </label>
        {total === 0 ? (
          <p>Everything {account.name} logged is with the server. Nothing stays behind.</p>
        ) : (
          <fieldset class="policies">
            <legend>
              {total === 1 ? '1 change is' : `${total} changes are`} still on this device
              {counts.blocked > 0 && `, ${counts.blocked} of them in need of you`}
            </legend>
            <Policy
              value="keep"
              label="Keep them here"
              hint={`They leave when ${account.name} signs in again.`}
              chosen={policy}
              onChoose={setPolicy}
            />
            <Policy
              value="flush"
              label="Send them first"
              hint="What cannot leave now is kept here."
              chosen={policy}
              onChoose={setPolicy}
            />
            <Policy
              value="discard"
              label="Throw them away"
              hint="They never reach the server, and cannot be brought back."
              chosen={policy}
              onChoose={setPolicy}
            />
          </fieldset>
        )}
        <div class="form-buttons">
          <button
            type="button"
            class={`button button-main${policy === 'discard' && total > 0 ? ' button-danger' : ''}`}
            disabled={isBusy}
            onClick={() => void signOut()}
          >
            {isBusy ? 'Signing out…' : 'Sign out'}
          </button>
        </div>
      </dialog>
    </>
  );
}

interface PolicyProps {
  readonly value: SignOutPolicy;
  readonly label: string;
  readonly hint: string;
  readonly chosen: SignOutPolicy;
  readonly onChoose: (policy: SignOutPolicy) => void;
}

function Policy({ value, label, hint, chosen, onChoose }: PolicyProps): JSX.Element {
  return (
    <label class="policy">
      <input
        type="radio"
        name="policy"
        value={value}
        checked={chosen === value}
        onChange={() => onChoose(value)}
      />
      <span>
        <b>{label}</b>
        <span class="small">{hint}</span>
      </span>
    </label>
  );
}
