/** The fields of a workout, for a new one, an edit, and a refused one that is being put right. */
import type { JSX } from 'preact';
import { useId, useRef } from 'preact/hooks';
import type { Workout } from '../definition/outbox.ts';
import { type Day, endOfDay } from './day.ts';
import { Icon, type IconName } from './icons.tsx';
import type { LogWishes } from './session.ts';

const EXERCISES = [
  'Squat',
  'Bench press',
  'Deadlift',
  'Overhead press',
  'Barbell row',
  'Pull-up',
  'Lunge',
  'Hip thrust',
  'Kettlebell swing',
  'Plank',
];

export interface WorkoutFormProps {
  readonly label: string;
  readonly submitLabel: string;
  readonly date: Day;
  readonly values?: Partial<Workout> | undefined;
  /** Names used before come first among the suggestions. */
  readonly known?: readonly string[] | undefined;
  /** The wishes are of no meaning for an edit. */
  readonly onSubmit: (values: Workout, wishes: LogWishes) => Promise<void>;
  readonly onCancel?: (() => void) | undefined;
  readonly autoFocus?: boolean | undefined;
}

export function WorkoutForm(props: WorkoutFormProps): JSX.Element {
  const { label, submitLabel, date, values, known = [], onSubmit, onCancel, autoFocus = false } = props;
  const listId = useId();
  const form = useRef<HTMLFormElement>(null);

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const element = form.current;
    if (element === null) return;
    const data = new FormData(element);
    const text = (name: string): string => String(data.get(name) ?? '').trim();
    const note = text('note');
    const workout = {
      date: text('date') || date,
      exercise: text('exercise'),
      weightKg: Number(text('weightKg')),
      sets: Number(text('sets')),
      reps: Number(text('reps')),
      ...(note === '' && values?.note === undefined ? {} : { note }),
    };
    await onSubmit(workout, {
      isUrgent: data.has('urgent'),
      ...(data.has('today') && { expiresAt: endOfDay(new Date()) }),
    });
    if (onCancel === undefined) {
      element.reset();
      element.querySelector<HTMLInputElement>('[name=exercise]')?.focus();
    }
  }

  const names = [...new Set([...known, ...EXERCISES])];
  return (
    <form ref={form} class="workout-form" aria-label={label} onSubmit={(event) => void submit(event)}>
      <label class="field field-exercise">
        <span>Exercise</span>
        <input
          name="exercise"
          list={listId}
          required
          maxLength={200}
          autocomplete="off"
          defaultValue={values?.exercise ?? ''}
          placeholder="Squat"
          // biome-ignore lint/a11y/noAutofocus: only set where the person has just asked for this form
          autoFocus={autoFocus}
        />
        <datalist id={listId}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <NumberField name="weightKg" label="Weight, kg" value={values?.weightKg} step="0.5" placeholder="60" />
      <NumberField name="sets" label="Sets" value={values?.sets} step="1" placeholder="5" />
      <NumberField name="reps" label="Reps" value={values?.reps} step="1" placeholder="5" />
      {values !== undefined && (
        <label class="field field-date">
          <span>Day</span>
          <input name="date" type="date" required defaultValue={values.date ?? date} />
        </label>
      )}
      <label class="field field-note">
        <span>
          Note <em>optional</em>
        </span>
        <input name="note" autocomplete="off" defaultValue={values?.note ?? ''} placeholder="Felt light" />
      </label>
      {values === undefined && (
        <fieldset class="wishes">
          <legend class="visually-hidden">How it is sent</legend>
          <Wish name="urgent" icon="send" label="Send first" />
          <Wish name="today" icon="clock" label="Only if it leaves today" />
        </fieldset>
      )}
      <div class="form-buttons">
        {onCancel !== undefined && (
          <button type="button" class="button button-quiet" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" class="button button-main">
          {submitLabel}
        </button>
      </div>
    </form>
  );
}

interface WishProps {
  readonly name: string;
  readonly icon: IconName;
  readonly label: string;
}

function Wish({ name, icon, label }: WishProps): JSX.Element {
  return (
    <label class="wish">
      <input type="checkbox" name={name} />
      <Icon name={icon} />
      <span>{label}</span>
    </label>
  );
}

interface NumberFieldProps {
  readonly name: string;
  readonly label: string;
  readonly value: number | undefined;
  readonly step: string;
  readonly placeholder: string;
}

function NumberField({ name, label, value, step, placeholder }: NumberFieldProps): JSX.Element {
  return (
    <label class="field field-number">
      <span>{label}</span>
      <input
        name={name}
        type="number"
        inputMode="decimal"
        required
        min="0"
        step={step}
        defaultValue={value === undefined ? '' : String(value)}
        placeholder={placeholder}
      />
    </label>
  );
}

/** The patch that turns one into the other; the fields of the form only. */
export function changedFields(before: Partial<Workout> | undefined, after: Workout): Partial<Workout> {
  const changed = Object.entries(after).filter(([name, value]) => before?.[name as keyof Workout] !== value);
  return Object.fromEntries(changed);
}
