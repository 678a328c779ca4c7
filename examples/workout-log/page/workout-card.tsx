import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Workout } from '../definition/outbox.ts';
import { Icon } from './icons.tsx';
import type { ShownWorkout } from './overlay.ts';
import { PhotoItem } from './photo-item.tsx';
import { badgeOf, sentenceOf, wishesOf } from './words.ts';
import { changedFields, WorkoutForm } from './workout-form.tsx';

interface WorkoutCardProps {
  readonly workout: ShownWorkout;
  readonly isOnline: boolean;
  readonly onEdit: (workout: ShownWorkout, patch: Partial<Workout>) => Promise<void>;
  readonly onDelete: (workout: ShownWorkout) => Promise<void>;
  readonly onAttach: (workout: ShownWorkout, picture: Blob) => Promise<void>;
}

export function WorkoutCard({
  workout,
  isOnline,
  onEdit,
  onDelete,
  onAttach,
}: WorkoutCardProps): JSX.Element {
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
            {wishesOf(change).map(({ icon, text }) => (
              <span key={text} class="badge badge-wish">
                <Icon name={icon} />
                {text}
              </span>
            ))}
          </p>
        )}
        {workout.photos.length > 0 && (
          <ul class="photos">
            {workout.photos.map((photo, place) => (
              <PhotoItem key={photo.id} photo={photo} label={`Photo ${place + 1} of ${values.exercise}`} />
            ))}
          </ul>
        )}
      </div>
      <div class="card-buttons">
        <label class="icon-button icon-button-file">
          <Icon name="camera" />
          <span class="visually-hidden">Attach a photo to {values.exercise}</span>
          <input
            type="file"
            accept="image/*"
            class="visually-hidden"
            onChange={(event) => {
              const [picture] = event.currentTarget.files ?? [];
              if (picture) void onAttach(workout, picture);
              event.currentTarget.value = '';
            }}
          />
        </label>
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
