/** Trouble on purpose: the connection off, the server down, answers lost. */
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { changeLab, LAB_FAULTS, type LabChange, type LabState, readLab, rulesFor } from './lab-server.ts';
import { offlineSwitch, setOfflineSwitch } from './lab-switch.ts';
import type { Session } from './session.ts';
import { useReadable } from './store.ts';

type Often = 'once' | 'always';

export function LabPanel({ session }: { readonly session: Session }): JSX.Element {
  const isOffline = useReadable(offlineSwitch);
  const [lab, setLab] = useState<LabState>();
  const [faultId, setFaultId] = useState<string>();
  const [often, setOften] = useState<Often>('once');
  const name = useId();

  useEffect(() => {
    void readLab().then(setLab);
  }, []);

  async function change(wanted: LabChange): Promise<void> {
    setLab(await changeLab(wanted));
  }

  async function choose(id: string | undefined, count: Often): Promise<void> {
    setFaultId(id);
    setOften(count);
    const fault = LAB_FAULTS.find((one) => one.id === id);
    await change({ rules: fault ? rulesFor(fault, count === 'once' ? 1 : undefined) : [] });
  }

  const chosen = LAB_FAULTS.find((one) => one.id === faultId);
  return (
    <section class="lab" aria-labelledby="lab-title">
      <h2 id="lab-title">Lab</h2>
      <p class="lead">Break things and watch nothing get lost.</p>
      <Switch
        label="Pretend there is no connection"
        hint="This page and its worker stop reaching the server."
        isOn={isOffline}
        onChange={async (isOn) => {
          await setOfflineSwitch(isOn);
          if (!isOn) await session.sendNow();
        }}
      />
      <Switch
        label="Server down"
        hint="The server breaks every connection."
        isOn={lab?.stopped ?? false}
        isDisabled={lab === undefined}
        onChange={(isOn) => change({ stopped: isOn })}
      />
      <fieldset class="faults" disabled={lab === undefined}>
        <legend>How the server answers changes</legend>
        <div class="fault-list">
          {[undefined, ...LAB_FAULTS].map((fault) => (
            <label key={fault?.id ?? 'none'} class="fault">
              <input
                type="radio"
                name={name}
                checked={faultId === fault?.id}
                onChange={() => void choose(fault?.id, often)}
              />
              <span>{fault?.label ?? 'As it should'}</span>
            </label>
          ))}
        </div>
        {chosen !== undefined && (
          <div class="fault-more">
            <p class="small">{chosen.hint}</p>
            <fieldset class="segments">
              <legend class="visually-hidden">How often</legend>
              {(['once', 'always'] as const).map((one) => (
                <button
                  key={one}
                  type="button"
                  aria-pressed={often === one}
                  onClick={() => void choose(chosen.id, one)}
                >
                  {one === 'once' ? 'Next one' : 'Every one'}
                </button>
              ))}
            </fieldset>
          </div>
        )}
      </fieldset>
      {lab === undefined && <p class="small">The server's switches cannot be reached.</p>}
    </section>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly hint: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean | undefined;
  readonly onChange: (isOn: boolean) => Promise<void>;
}

function Switch({ label, hint, isOn, isDisabled = false, onChange }: SwitchProps): JSX.Element {
  const hintId = useId();
  return (
    <div class="switch-row">
      <label>
        <input
          type="checkbox"
          role="switch"
          class="switch"
          aria-checked={isOn}
          checked={isOn}
          disabled={isDisabled}
          aria-describedby={hintId}
          onChange={(event) => void onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <p id={hintId} class="small">
        {hint}
      </p>
    </div>
  );
}
