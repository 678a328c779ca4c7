import type { JSX } from 'preact';
import {
  addDays,
  type Day,
  formatDayOfMonth,
  formatLong,
  formatMonth,
  formatWeekday,
  weekOf,
} from './day.ts';
import { Icon } from './icons.tsx';
import type { ShownPlan } from './overlay.ts';

interface WeekStripProps {
  readonly day: Day;
  readonly today: Day;
  readonly plans: ReadonlyMap<Day, ShownPlan>;
  /** How many workouts each day has. */
  readonly countOf: (day: Day) => number;
  readonly onPick: (day: Day) => void;
}

/** Three say "several". */
const DOTS = ['first', 'second', 'third'] as const;

export function WeekStrip({ day, today, plans, countOf, onPick }: WeekStripProps): JSX.Element {
  return (
    <nav class="week" aria-label="Days">
      <div class="week-head">
        <p class="over">{formatMonth(day)}</p>
        <div class="week-steps">
          {day !== today && (
            <button type="button" class="button button-quiet button-small" onClick={() => onPick(today)}>
              Today
            </button>
          )}
          <button
            type="button"
            class="icon-button"
            aria-label="A week earlier"
            onClick={() => onPick(addDays(day, -7))}
          >
            <Icon name="left" />
          </button>
          <button
            type="button"
            class="icon-button"
            aria-label="A week later"
            onClick={() => onPick(addDays(day, 7))}
          >
            <Icon name="right" />
          </button>
        </div>
      </div>
      <ul class="week-days">
        {weekOf(day).map((one) => {
          const plan = plans.get(one);
          const count = countOf(one);
          const words = [
            formatLong(one),
            count > 0 ? `${count} logged` : undefined,
            plan ? `plan: ${plan.title}` : undefined,
          ].filter((word) => word !== undefined);
          return (
            <li key={one}>
              <button
                type="button"
                class={`week-day${one === today ? ' is-today' : ''}`}
                aria-current={one === day ? 'date' : undefined}
                onClick={() => onPick(one)}
              >
                <span class="visually-hidden">{words.join(', ')}</span>
                <span class="week-name" aria-hidden="true">
                  {formatWeekday(one)}
                </span>
                <span class="week-number" aria-hidden="true">
                  {formatDayOfMonth(one)}
                </span>
                <span class="week-dots" aria-hidden="true">
                  {DOTS.slice(0, count).map((dot) => (
                    <i key={dot} />
                  ))}
                  {plan !== undefined && count === 0 && <i class="week-planned" />}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
