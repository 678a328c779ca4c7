/** What the demo accepts as a workout or a plan. Pure; members it does not know are kept. */
import type { JsonObject } from '../http/json-body.ts';

type Check = (value: unknown) => string | undefined;

const text =
  (limit: number): Check =>
  (value) =>
    typeof value === 'string' && value.length <= limit ? undefined : `a text of at most ${limit} characters`;

const number =
  (least: number, most: number): Check =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most
      ? undefined
      : `a number from ${least} to ${most}`;

const day: Check = (value) => (isDay(value) ? undefined : 'a day such as 2026-11-30');

const WORKOUT: Readonly<Record<string, Check>> = {
  date: day,
  exercise: text(200),
  sets: number(0, 1000),
  reps: number(0, 10_000),
  weightKg: number(0, 2000),
  note: text(20_000),
};
const PLAN: Readonly<Record<string, Check>> = { title: text(500), note: text(20_000) };

export function isDay(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const at = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(value);
}

/** Answers with the first thing that is wrong, or `undefined`. */
export function checkWorkout(body: JsonObject | undefined): string | undefined {
  if (!body) return 'A workout is a JSON object';
  if (!Object.hasOwn(body, 'date')) return 'A workout has a date';
  return firstFault(body, WORKOUT);
}

/** A patch: members to set; `null` takes one away. */
export function checkWorkoutPatch(patch: JsonObject | undefined): string | undefined {
  if (!patch) return 'A patch is a JSON object';
  if (patch['date'] === null) return 'A workout keeps its date';
  return firstFault(Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null)), WORKOUT);
}

export function checkPlan(body: JsonObject | undefined): string | undefined {
  if (!body) return 'A plan is a JSON object';
  if (!Object.hasOwn(body, 'title')) return 'A plan has a title';
  return firstFault(body, PLAN);
}

function firstFault(body: JsonObject, checks: Readonly<Record<string, Check>>): string | undefined {
  for (const [name, check] of Object.entries(checks)) {
    if (!Object.hasOwn(body, name)) continue;
    const wanted = check(body[name]);
    if (wanted) return `"${name}" should be ${wanted}`;
  }
  return undefined;
}

export function applyPatch(body: JsonObject, patch: JsonObject): JsonObject {
  const merged = Object.entries({ ...body, ...patch }).filter(([, value]) => value !== null);
  return Object.fromEntries(merged);
}
