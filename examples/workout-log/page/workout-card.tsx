import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Workout } from '../definition/outbox.ts';
import { Icon } from './icons.tsx';
import type { ShownWorkout } from './overlay.ts';
import { badgeOf, sentenceOf } from './words.ts';
import { changedFields, WorkoutForm } from './workout-form.tsx';

interface WorkoutCardProps {
  readonly workout: ShownWorkout;
  readonly isOnline: boolean;
  readonly onEdit: (workout: ShownWorkout, patch: Partial<Workout>) => Promise<void>;
  readonly onDelete: (workout: ShownWorkout) => Promise<void>;
}

export function WorkoutCard({ workout, isOnline, onEdit, onDelete }: WorkoutCardProps): JSX.Element {
  const [isEditing, setEditing] = useState(false);
  const { values, change } = workout;
  const badge = change && badgeOf(change);

  if (isEditing) {
    return (
      <li class="card card-editing">
        <WorkoutForm
          label={`Edit ${values.exercise}`}
          submitLabel="Save"
          date={values.date}
          values={values}
          autoFocus
          onCancel={() => setEditing(false)}
          onSubmit={async (edited) => {
            const patch = changedFields(values, edited);
            if (Object.keys(patch).length > 0) await onEdit(workout, patch);
            setEditing(false);
          }}
        />
      </li>
    );
  }

  return (
    <li class={`card${badge ? ` card-${badge.mood}` : ''}`}>
      <div class="card-figure" aria-hidden="true">
        <b>{values.weightKg}</b>
        <span>kg</span>
      </div>
      <div class="card-text">
        <h4>{values.exercise}</h4>
        <p>
          <span class="visually-hidden">{values.weightKg} kg, </span>
          {values.sets} × {values.reps}
          {values.note !== undefined && values.note !== '' && <span class="card-note"> · {values.note}</span>}
        </p>
        {badge !== undefined && change !== undefined && (
          <p class="card-state">
            <span class={`badge badge-${badge.mood}`} title={sentenceOf(change, isOnline)}>
              <Icon name={badge.icon} />
              {workout.isDeletionRefused ? 'Not deleted' : badge.text}
            </span>
          </p>
        )}
      </div>
      <div class="card-buttons">
        <button
          type="button"
          class="icon-button"
          aria-label={`Edit ${values.exercise}`}
          onClick={() => setEditing(true)}
        >
          <Icon name="pencil" />
        </button>
        <button
          type="button"
          class="icon-button icon-button-danger"
          aria-label={`Delete ${values.exercise}`}
          onClick={() => void onDelete(workout)}
        >
          <Icon name="trash" />
        </button>
      </div>
    </li>
  );
}
