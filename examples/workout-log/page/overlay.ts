/** The log as the person left it: what the server last said, with the changes that wait laid over it. Pure. */
import type { Plan, Workout } from '../definition/outbox.ts';
import type { Day } from './day.ts';
import type { ServerPlan, ServerWorkout } from './server-copy.ts';
import type { WaitingChange } from './waiting-change.ts';

type Target = WaitingChange['row']['target'];

/** A change that the server has accepted and this page has not read back yet. */
export interface AcceptedChange {
  readonly family: string;
  /** The server's id. */
  readonly target: string;
  /** From the receipt: the next edit needs no read to be based on it. */
  readonly revision: number;
  /** The whole body of a creation or a plan, the patch of an edit. */
  readonly body: unknown;
}

export interface ShownWorkout {
  /** Equal for the same workout, also when the server has given it an id. */
  readonly token: string;
  readonly target: Target;
  readonly values: Workout;
  /** The server's, on which an edit is based; absent while the server has no such workout. */
  readonly revision?: number | undefined;
  /** The change that decides its badge: the one that needs the person, else the last one. */
  readonly change?: WaitingChange | undefined;
  /** Its deletion waits and was refused, so it is still here. */
  readonly isDeletionRefused?: boolean | undefined;
  /** The server's first, then those that wait here. */
  readonly photos: readonly ShownPhoto[];
}

/** A photo's body as it waits: the id of its workout comes in once that is known. */
interface Photo {
  readonly picture: Blob;
  readonly workoutId: string;
}

export interface ShownPhoto {
  readonly id: string;
  /** Absent for one that the server has. */
  readonly picture?: Blob | undefined;
  readonly change?: WaitingChange | undefined;
}

export interface ShownPlan {
  readonly date: Day;
  readonly title: string;
  readonly revision?: number | undefined;
  readonly change?: WaitingChange | undefined;
}

const NOTHING: Workout = { date: '1970-01-01', exercise: '', weightKg: 0, sets: 0, reps: 0 };

export function overlayWorkouts(
  copy: readonly ServerWorkout[],
  changes: readonly WaitingChange[],
  accepted: readonly AcceptedChange[] = [],
  originOf: (id: string) => string | undefined = () => undefined,
): readonly ShownWorkout[] {
  const targetToken = (target: Target): string => {
    const origin = target.type === 'pending' ? target.origin : originOf(target.id);
    return origin === undefined && target.type === 'id' ? `id ${target.id}` : `here ${origin}`;
  };
  const shown = new Map<string, ShownWorkout>();
  for (const { id, revision, photos = [], ...values } of copy) {
    const target = { type: 'id' as const, id };
    const token = targetToken(target);
    shown.set(token, { token, target, values, revision, photos: photos.map((photo) => ({ id: photo })) });
  }
  for (const { family, target: id, revision, body } of accepted) {
    const target = { type: 'id' as const, id };
    const before = shown.get(targetToken(target));
    // What the copy has at this revision or a later one is the server's own word.
    if (family !== 'workout' || (before?.revision ?? 0) >= revision) continue;
    const values = { ...(before?.values ?? NOTHING), ...(body as Partial<Workout>) };
    if (values.exercise === '') continue;
    const token = targetToken(target);
    shown.set(token, { token, target, values, revision, photos: before?.photos ?? [] });
  }
  for (const change of changes) {
    const { row, body } = change;
    if (row.family !== 'workout') continue;
    const target: Target = row.kind === 'create' ? { type: 'pending', origin: row.origin } : row.target;
    const token = targetToken(target);
    const before = shown.get(token);
    if (row.kind === 'delete' && (row.state !== 'blocked' || change.isLeaving)) {
      shown.delete(token);
      continue;
    }
    // A body that has not been read yet has nothing to show.
    if (row.kind !== 'delete' && body === undefined) continue;
    const values = { ...(before?.values ?? NOTHING), ...(body as Partial<Workout> | undefined) };
    if (values.exercise === '') continue;
    shown.set(token, {
      token,
      target,
      values,
      revision: before?.revision,
      change: change.isLeaving || before?.change?.row.state === 'blocked' ? before?.change : change,
      isDeletionRefused: row.kind === 'delete',
      photos: before?.photos ?? [],
    });
  }
  for (const change of changes) {
    const { row, body, accepted: left } = change;
    const { picture, workoutId } = (body ?? {}) as Partial<Photo>;
    // Of one that left before a reload the bytes are not here any more.
    if (row.family !== 'photo' || !(picture instanceof Blob)) continue;
    const [origin] = row.after ?? [];
    const under: Target | undefined =
      workoutId !== undefined
        ? { type: 'id', id: workoutId }
        : origin === undefined
          ? undefined
          : { type: 'pending', origin };
    const workout = under && shown.get(targetToken(under));
    if (!workout || workout.photos.some(({ id }) => id === left?.target)) continue;
    const photo = { id: row.id, picture, ...(!change.isLeaving && { change }) };
    shown.set(workout.token, { ...workout, photos: [...workout.photos, photo] });
  }
  const at = ({ values }: ShownWorkout): number => values.loggedAt ?? 0;
  return [...shown.values()].sort((a, b) => b.values.date.localeCompare(a.values.date) || at(b) - at(a));
}

export function overlayPlans(
  copy: readonly ServerPlan[],
  changes: readonly WaitingChange[],
  accepted: readonly AcceptedChange[] = [],
): ReadonlyMap<Day, ShownPlan> {
  const shown = new Map<Day, ShownPlan>(copy.map((plan) => [plan.date, plan]));
  for (const { family, target: date, revision, body } of accepted) {
    if (family !== 'plan' || (shown.get(date)?.revision ?? 0) >= revision) continue;
    shown.set(date, { date, title: (body as Plan).title, revision });
  }
  for (const change of changes) {
    const { row, body } = change;
    if (row.family !== 'plan' || row.target.type !== 'id') continue;
    const date = row.target.id;
    const revision = shown.get(date)?.revision;
    if (row.kind === 'remove' && row.state !== 'blocked') shown.delete(date);
    else if (row.kind === 'put' && body !== undefined) {
      shown.set(date, {
        date,
        title: (body as Plan).title,
        revision,
        change: change.isLeaving ? undefined : change,
      });
    }
  }
  return shown;
}
