export type Send = (item: unknown, id: string) => Promise<void>;

export interface Timings {
  /** All at once, until the last is stored. */
  readonly enqueueMs: number;
  readonly drainMs: number;
}
