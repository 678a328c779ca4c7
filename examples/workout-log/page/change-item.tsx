/** One change that waits: what it is, how it stands, why, and the ways out it has. */
import { blockedReason } from 'holdfast/shared';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Workout } from '../definition/outbox.ts';
import { formatAge, toDay } from './day.ts';
import { Icon, type IconName } from './icons.tsx';
import type { Session } from './session.ts';
import type { WaitingChange } from './waiting-change.ts';
import { badgeOf, sentenceOf, titleOf, wishesOf } from './words.ts';
import { changedFields, WorkoutForm } from './workout-form.tsx';

const KIND_ICONS: Readonly<Record<WaitingChange['row']['kind'], IconName>> = {
  create: 'plus',
  update: 'pencil',
  delete: 'trash',
  put: 'flag',
  remove: 'flag',
};

interface ChangeItemProps {
  readonly change: WaitingChange;
  readonly session: Session;
  readonly isOnline: boolean;
  readonly now: number;
}

export function ChangeItem({ change, session, isOnline, now }: ChangeItemProps): JSX.Element {
  const [isRecovering, setRecovering] = useState(false);
  const [lines, setLines] = useState<readonly string[]>();
  const { row } = change;
  const badge = badgeOf(change);
  const title = titleOf(change);
  const waysOut: readonly string[] =
    row.state === 'blocked' ? blockedReason(row.blockedCode ?? '', row).waysOut : [];
  const canRecover = waysOut.includes('recover') && row.family === 'workout';

  return (
    <li class={`change change-${badge.mood}`}>
      <div class="change-head">
        <span class="change-icon">
          <Icon name={KIND_ICONS[row.kind]} />
        </span>
        <h4>{title}</h4>
        <span class={`badge badge-${badge.mood}`}>
          <Icon name={badge.icon} />
          {badge.text}
        </span>
      </div>
      <p class="change-why">{sentenceOf(change, isOnline)}</p>
      {row.overtakenBy !== undefined && (
        <p class="change-why">A later change of the same thing has already left.</p>
      )}
      <p class="change-facts">
        Saved {formatAge(row.savedAt, now)}
        {wishesOf(change).map(({ text }) => ` · ${text.toLowerCase()}`)}
        {row.attemptCount > 0 && ` · tried ${row.attemptCount === 1 ? 'once' : `${row.attemptCount} times`}`}
        {row.lastErrorCode !== undefined && ` · ${row.lastErrorCode}`}
      </p>

      {isRecovering && (
        <WorkoutForm
          label={`Put right: ${title}`}
          submitLabel="Send this"
          date={toDay(new Date(row.savedAt))}
          values={{ ...change.base, ...(change.body as Partial<Workout>) }}
          autoFocus
          onCancel={() => setRecovering(false)}
          onSubmit={async (values) => {
            const edited = row.kind === 'create' ? values : changedFields(change.base, values);
            await session.recover(row.id, { ...(change.body as Partial<Workout>), ...edited });
            setRecovering(false);
          }}
        />
      )}

      {!isRecovering && (
        <div class="change-buttons">
          {waysOut.includes('retry') && (
            <button
              type="button"
              class="button button-small"
              onClick={() => void session.retry(row.id, row.overtakenBy !== undefined)}
            >
              {row.overtakenBy === undefined ? 'Send again' : 'Send it all the same'}
            </button>
          )}
          {canRecover && (
            <button type="button" class="button button-small" onClick={() => setRecovering(true)}>
              Put right
            </button>
          )}
          {waysOut.includes('discard') && (
            <button
              type="button"
              class="button button-small button-danger"
              onClick={() => void session.discard(row.id)}
            >
              Discard
            </button>
          )}
          {(row.state === 'queued' || row.state === 'held') && !row.doubt && (
            <button
              type="button"
              class="button button-small button-quiet"
              onClick={() => void session.withdraw(row.id)}
            >
              Withdraw
            </button>
          )}
          <details
            class="change-details"
            onToggle={(event) => {
              if (event.currentTarget.open) void session.explain(row.id).then(setLines);
            }}
          >
            <summary>Details</summary>
            <ul>
              {(lines ?? ['Reading…']).map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </details>
        </div>
      )}
    </li>
  );
}
