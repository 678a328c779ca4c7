/** The log itself: a week, a day with its plan, the form, and what was logged. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { announce } from './announcer.tsx';
import { type Day, formatRelative, toDay } from './day.ts';
import { DayPlan } from './day-plan.tsx';
import { overlayPlans, overlayWorkouts, type ShownWorkout } from './overlay.ts';
import type { Session } from './session.ts';
import { useReadable } from './store.ts';
import { WeekStrip } from './week-strip.tsx';
import { WorkoutCard } from './workout-card.tsx';
import { WorkoutForm } from './workout-form.tsx';

const EARLIER_LIMIT = 60;

export function LogView({ session }: { readonly session: Session }): JSX.Element {
  const today = toDay(new Date());
  const [day, setDay] = useState<Day>(today);
  const copy = useReadable(session.copy);
  const changes = useReadable(session.changes);
  const accepted = useReadable(session.accepted);
  const { isOnline } = useReadable(session.status);
  const workouts = useMemo(
    () => overlayWorkouts(copy.workouts, changes, accepted, session.accepted.originOf),
    [copy.workouts, changes, accepted, session.accepted],
  );
  const plans = useMemo(() => overlayPlans(copy.plans, changes, accepted), [copy.plans, changes, accepted]);
  const byDay = useMemo(() => groupByDay(workouts), [workouts]);
  const known = useMemo(() => [...new Set(workouts.map(({ values }) => values.exercise))], [workouts]);

  const ofDay = byDay.get(day) ?? [];
  const earlier = [...byDay].filter(([one]) => one !== day);
  const card = (workout: ShownWorkout): JSX.Element => (
    <WorkoutCard
      key={workout.token}
      workout={workout}
      isOnline={isOnline}
      onEdit={session.editWorkout}
      onDelete={session.deleteWorkout}
      onAttach={session.attachPhoto}
    />
  );

  return (
    <div class="log">
      <WeekStrip
        day={day}
        today={today}
        plans={plans}
        countOf={(one) => byDay.get(one)?.length ?? 0}
        onPick={setDay}
      />
      <section class="day" aria-labelledby="day-title">
        <div class="day-head">
          <h2 id="day-title">{formatRelative(day, today)}</h2>
          {ofDay.length > 0 && <p class="day-sum">{formatVolume(ofDay)}</p>}
        </div>
        <DayPlan
          key={day}
          day={day}
          plan={plans.get(day)}
          onPut={session.planDay}
          onRemove={session.removePlan}
        />
        <div class="composer">
          <WorkoutForm
            label="Log a workout"
            submitLabel="Log it"
            date={day}
            known={known}
            onSubmit={async (values, wishes) => {
              await session.logWorkout(values, wishes);
              announce(`${values.exercise} is saved on this device`, 'good');
            }}
          />
        </div>
        {ofDay.length > 0 ? (
          <>
            <h3 class="visually-hidden">Logged</h3>
            <ul class="cards">{ofDay.map(card)}</ul>
          </>
        ) : (
          <p class="empty">Nothing logged {day === today ? 'yet today' : 'on this day'}.</p>
        )}
      </section>
      {earlier.length > 0 && (
        <section class="earlier" aria-labelledby="earlier-title">
          <h2 id="earlier-title">Other days</h2>
          {earlier.slice(0, EARLIER_LIMIT).map(([one, items]) => (
            <div key={one} class="earlier-day">
              <h3>
                <button type="button" class="link" onClick={() => setDay(one)}>
                  {formatRelative(one, today)}
                </button>
                <span class="day-sum">{formatVolume(items)}</span>
              </h3>
              <ul class="cards">{items.map(card)}</ul>
            </div>
          ))}
        </section>
      )}
      {copy.readAt === undefined && workouts.length === 0 && (
        <p class="empty">Earlier workouts appear once the server has been reached.</p>
      )}
    </div>
  );
}

function groupByDay(workouts: readonly ShownWorkout[]): ReadonlyMap<Day, readonly ShownWorkout[]> {
  const groups = new Map<Day, ShownWorkout[]>();
  for (const workout of workouts) {
    const group = groups.get(workout.values.date);
    if (group) group.push(workout);
    else groups.set(workout.values.date, [workout]);
  }
  return groups;
}

function formatVolume(workouts: readonly ShownWorkout[]): string {
  const kg = workouts.reduce((sum, { values }) => sum + values.weightKg * values.sets * values.reps, 0);
  return `${Math.round(kg).toLocaleString('en-GB')} kg moved`;
}
