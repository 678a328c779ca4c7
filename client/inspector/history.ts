/** Depth and throughput over the last minutes, in steps. Pure: the clock is the caller's. */

export const STEP_MS = 5_000;
export const STEPS = 60;

/** By step, which is an instant divided by `STEP_MS`. Steps that have gone out of sight are forgotten. */
export interface History {
  /** Most rows that waited; a step without a look is as the one before. */
  readonly depths: ReadonlyMap<number, number>;
  /** Rows the server accepted. */
  readonly sent: ReadonlyMap<number, number>;
}

export interface Step {
  /** When it began (epoch ms). */
  readonly at: number;
  /** Absent before the first look. */
  readonly depth: number | undefined;
  readonly sent: number;
}

export const NO_HISTORY: History = { depths: new Map(), sent: new Map() };

const stepOf = (at: number): number => Math.floor(at / STEP_MS);

const since = (map: ReadonlyMap<number, number>, now: number): Map<number, number> => {
  const last = stepOf(now);
  // The step before the first one shown tells what that began with. A clock set back leaves nothing ahead of it.
  return new Map([...map].filter(([step]) => step >= last - STEPS && step <= last));
};

export function noteDepth(history: History, now: number, depth: number): History {
  const depths = since(history.depths, now);
  const step = stepOf(now);
  depths.set(step, Math.max(depth, depths.get(step) ?? 0));
  return { ...history, depths };
}

/** `ats`: when the server accepted each (epoch ms). */
export function noteSent(history: History, now: number, ats: readonly number[]): History {
  const sent = since(history.sent, now);
  for (const at of ats) sent.set(stepOf(at), (sent.get(stepOf(at)) ?? 0) + 1);
  return { ...history, sent: since(sent, now) };
}

/** Oldest first; the last one is under way. */
export function stepsOf({ depths, sent }: History, now: number): readonly Step[] {
  const last = stepOf(now);
  let depth = depths.get(last - STEPS);
  return Array.from({ length: STEPS }, (_, place) => {
    const step = last - STEPS + 1 + place;
    depth = depths.get(step) ?? depth;
    return { at: step * STEP_MS, depth, sent: sent.get(step) ?? 0 };
  });
}
