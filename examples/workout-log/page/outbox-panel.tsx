/** What waits on this device: headline, progress, connection, and the changes one by one. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ChangeItem } from './change-item.tsx';
import { Icon } from './icons.tsx';
import type { OutboxStatus, Session } from './session.ts';
import { useReadable } from './store.ts';

/** So many are shown unasked, and at most so many on request. */
const SHOWN_FIRST = 5;
const SHOWN_MOST = 200;
const CLOCK_MS = 30_000;

interface OutboxPanelProps {
  readonly session: Session;
  readonly onSupport: () => void;
}

export function OutboxPanel({ session, onSupport }: OutboxPanelProps): JSX.Element {
  const status = useReadable(session.status);
  const changes = useReadable(session.changes).filter(({ isLeaving }) => !isLeaving);
  const now = useNow();
  const [isWhole, setWhole] = useState(false);
  const { progress, counts, isPaused } = status;
  const blocked = changes.filter(({ row }) => row.state === 'blocked');
  const others = changes.filter(({ row }) => row.state !== 'blocked');
  const shown = others.slice(0, isWhole ? SHOWN_MOST : SHOWN_FIRST);

  return (
    <section class="outbox" aria-labelledby="outbox-title">
      <div class="outbox-head">
        <h2 id="outbox-title">On this device</h2>
        <p class="outbox-count">{headlineOf(status)}</p>
      </div>
      <ConnectionLine status={status} />
      {progress.running && progress.total > 0 && (
        <div class="drain">
          <label for="drain">
            Sending {Math.min(progress.done + 1, progress.total)} of {progress.total}
          </label>
          <progress id="drain" value={progress.done} max={progress.total} />
        </div>
      )}
      {status.storageTrouble !== undefined && <p class="notice notice-bad">{status.storageTrouble}</p>}
      <div class="outbox-buttons">
        <button
          type="button"
          class="button button-small"
          disabled={counts.queued === 0 || isPaused}
          onClick={() => void session.sendNow()}
        >
          <Icon name="send" />
          Send now
        </button>
        <button
          type="button"
          class="button button-small button-quiet"
          onClick={() => void (isPaused ? session.resume() : session.pause())}
        >
          <Icon name={isPaused ? 'play' : 'pause'} />
          {isPaused ? 'Go on sending' : 'Pause'}
        </button>
        {changes.length > 0 && (
          <button
            type="button"
            class="button button-small button-quiet"
            onClick={() => void session.exportAll().then(download)}
          >
            Export
          </button>
        )}
        <button type="button" class="button button-small button-quiet" onClick={onSupport}>
          Support
        </button>
      </div>
      {blocked.length > 0 && (
        <>
          <h3 class="over">Needs you</h3>
          <ul class="changes">
            {blocked.map((change) => (
              <ChangeItem
                key={change.row.id}
                change={change}
                session={session}
                isOnline={status.isOnline}
                now={now}
              />
            ))}
          </ul>
        </>
      )}
      {others.length > 0 && (
        <>
          <h3 class="over">Waiting to leave</h3>
          <ul class="changes">
            {shown.map((change) => (
              <ChangeItem
                key={change.row.origin}
                change={change}
                session={session}
                isOnline={status.isOnline}
                now={now}
              />
            ))}
          </ul>
          {others.length > SHOWN_FIRST && (
            <button type="button" class="button button-small" onClick={() => setWhole(!isWhole)}>
              {isWhole ? 'Show fewer' : `Show all ${others.length}`}
            </button>
          )}
        </>
      )}
      {changes.length === 0 && status.isReady && (
        <div class="all-saved">
          <span>
            <Icon name="check" />
          </span>
          <p>Everything you logged is with the server.</p>
        </div>
      )}
    </section>
  );
}

export function headlineOf({ counts, isReady }: OutboxStatus): string {
  if (!isReady) return 'Opening…';
  const waiting = counts.queued + counts.sending;
  if (counts.blocked > 0) return counts.blocked === 1 ? '1 needs you' : `${counts.blocked} need you`;
  if (counts.held > 0) return `${counts.held + waiting} held`;
  return waiting === 0 ? 'All saved' : `${waiting} waiting`;
}

function ConnectionLine({ status }: { readonly status: OutboxStatus }): JSX.Element {
  const { isOnline, host, triggers, isPaused } = status;
  const where = host === 'worker' ? 'the Service Worker' : 'this page';
  return (
    <p class="connection">
      <span class={`dot ${isOnline ? 'dot-good' : 'dot-off'}`} aria-hidden="true" />
      <span>
        <b>{isOnline ? 'Connected' : 'No connection'}</b>
        {isPaused && <b> · paused</b>}
        <span class="connection-more">
          Sent by {where}
          {triggers.length > 0 && `; woken by ${triggers.join(', ')}`}
        </span>
      </span>
    </p>
  );
}

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), CLOCK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function download(blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = 'basement-log-outbox.json';
  link.click();
  URL.revokeObjectURL(link.href);
}
