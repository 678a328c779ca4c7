/** What the screens ask for, for one signed-in account. connect-session.ts makes it out of an outbox. */
import type { InspectedOutbox } from 'holdfast/inspector';
import type { Workout } from '../definition/outbox.ts';
import type { Account } from './account.ts';
import type { Day } from './day.ts';
import type { ShownPlan, ShownWorkout } from './overlay.ts';
import type { CopyContent } from './server-copy.ts';
import type { Readable } from './store.ts';
import type { WaitingChange } from './waiting-change.ts';
import type { Changes } from './watch-changes.ts';

export interface OutboxStatus {
  /** False until what is on this device has been read. */
  readonly isReady: boolean;
  readonly counts: {
    readonly queued: number;
    readonly sending: number;
    readonly held: number;
    readonly blocked: number;
  };
  readonly progress: { readonly running: boolean; readonly done: number; readonly total: number };
  readonly isOnline: boolean;
  readonly isPaused: boolean;
  /** Where the engine runs. */
  readonly host: 'worker' | 'page';
  /** What will wake the queue, in words. */
  readonly triggers: readonly string[];
  readonly oldestSavedAt?: number | undefined;
  /** Epoch ms before which nothing leaves, where something said so. */
  readonly wakeAt?: number | undefined;
  /** In words, where the device's storage is in trouble. */
  readonly storageTrouble?: string | undefined;
}

export type Remaining = OutboxStatus['counts'];
export type SignOutPolicy = 'keep' | 'flush' | 'discard';

/** How a change is to be sent. */
export interface LogWishes {
  readonly isUrgent: boolean;
  /** Epoch ms after which it is of no use any more. */
  readonly expiresAt?: number | undefined;
}

export interface Session {
  readonly account: Account;
  readonly status: Readable<OutboxStatus>;
  readonly changes: Readable<readonly WaitingChange[]>;
  readonly copy: Readable<CopyContent>;
  /** For the support view. */
  readonly outbox: InspectedOutbox;
  readonly accepted: Changes['accepted'];
  logWorkout(values: Workout, wishes?: LogWishes): Promise<void>;
  /** Also to a workout that the server does not know yet. */
  attachPhoto(workout: ShownWorkout, picture: Blob): Promise<void>;
  editWorkout(workout: ShownWorkout, patch: Partial<Workout>): Promise<void>;
  deleteWorkout(workout: ShownWorkout): Promise<void>;
  planDay(date: Day, title: string, plan: ShownPlan | undefined): Promise<void>;
  removePlan(plan: ShownPlan): Promise<void>;
  /** Sends a blocked change again; `overwrite` where a later one of the same day has left already. */
  retry(id: string, overwrite: boolean): Promise<void>;
  recover(id: string, body: unknown): Promise<void>;
  discard(id: string): Promise<void>;
  withdraw(id: string): Promise<void>;
  sendNow(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Lines for a curious person: who holds it, what it waits for, what wakes it. */
  explain(id: string): Promise<readonly string[]>;
  exportAll(): Promise<Blob>;
  /** Signs the account in anew after the server's session ended; the cookie is there by then. */
  signedInAgain(): Promise<void>;
  signOut(policy: SignOutPolicy): Promise<Remaining>;
  close(): void;
}
