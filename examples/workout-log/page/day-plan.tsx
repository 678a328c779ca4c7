import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Day } from './day.ts';
import { Icon } from './icons.tsx';
import type { ShownPlan } from './overlay.ts';
import { badgeOf } from './words.ts';

interface DayPlanProps {
  readonly day: Day;
  readonly plan: ShownPlan | undefined;
  readonly onPut: (day: Day, title: string, plan: ShownPlan | undefined) => Promise<void>;
  readonly onRemove: (plan: ShownPlan) => Promise<void>;
}

/** The day's plan: one line, put or removed. Give it the day as its key, so that a new day begins unedited. */
export function DayPlan({ day, plan, onPut, onRemove }: DayPlanProps): JSX.Element {
  const [isEditing, setEditing] = useState(false);
  const badge = plan?.change && badgeOf(plan.change);

  if (isEditing) {
    return (
      <form
        class="plan plan-form"
        aria-label="Plan of the day"
        onSubmit={(event) => {
          event.preventDefault();
          const title = String(new FormData(event.currentTarget).get('title') ?? '').trim();
          setEditing(false);
          if (title !== '' && title !== plan?.title) void onPut(day, title, plan);
        }}
      >
        <label class="field">
          <span>Plan of the day</span>
          <input
            name="title"
            required
            maxLength={500}
            autocomplete="off"
            defaultValue={plan?.title ?? ''}
            placeholder="Legs and core"
            // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form
            autoFocus
          />
        </label>
        <div class="form-buttons">
          <button type="button" class="button button-quiet" onClick={() => setEditing(false)}>
            Cancel
          </button>
          <button type="submit" class="button button-main">
            Plan it
          </button>
        </div>
      </form>
    );
  }

  if (plan === undefined) {
    return (
      <button type="button" class="plan plan-empty" onClick={() => setEditing(true)}>
        <Icon name="flag" />
        Plan this day
      </button>
    );
  }
  return (
    <div class="plan">
      <Icon name="flag" />
      <p>
        <span class="visually-hidden">Plan: </span>
        {plan.title}
      </p>
      {badge !== undefined && (
        <span class={`badge badge-${badge.mood}`}>
          <Icon name={badge.icon} />
          {badge.text}
        </span>
      )}
      <div class="card-buttons">
        <button type="button" class="icon-button" aria-label="Edit the plan" onClick={() => setEditing(true)}>
          <Icon name="pencil" />
        </button>
        <button
          type="button"
          class="icon-button icon-button-danger"
          aria-label="Remove the plan"
          onClick={() => void onRemove(plan)}
        >
          <Icon name="trash" />
        </button>
      </div>
    </div>
  );
}
