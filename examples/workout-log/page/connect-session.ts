/** The session of one account: an outbox, the copy of the server, and what the page does about outcomes. */
import { keepAppBadge } from 'holdfast/badge';
import { connectOutbox, type Handle, type Outbox } from 'holdfast/client';
import { type DataStep, runReactions, SENTENCES } from 'holdfast/reactions';
import type { Outcome } from 'holdfast/shared';
import { definition } from '../definition/outbox.ts';
import { openAccepted } from './accepted.ts';
import type { Account } from './account.ts';
import { announce } from './announcer.tsx';
import { explainLines } from './explain-lines.ts';
import { offlineSwitch } from './lab-switch.ts';
import { openServerCopy } from './server-copy.ts';
import type { Session } from './session.ts';
import { watchChanges } from './watch-changes.ts';
import { watchStatus } from './watch-status.ts';

export type DemoOutbox = Outbox<(typeof definition)['families']>;

export async function connectSession(account: Account): Promise<Session> {
  const outbox = await connectOutbox(definition, {
    worker: '/sw.js',
    owner: account.id,
    fallback: async () => (await import('./fallback.ts')).sending,
  });
  const copy = openServerCopy(account.id);
  const accepted = openAccepted(account.id);
  const changes = watchChanges(outbox, copy);
  const status = watchStatus(outbox);
  const endBadge = keepAppBadge(outbox.view);

  async function refresh(): Promise<void> {
    const forget = accepted.beginRead();
    if (await copy.refresh()) forget();
  }

  /** What is about data, in every page; what needs no doing here falls through. */
  function apply(steps: readonly DataStep[], outcomes: readonly Outcome[]): void {
    for (const step of steps) {
      if (step.type === 'drop' && step.resource.target !== undefined) {
        copy.drop(step.resource.family, step.resource.target);
      }
    }
    for (const outcome of outcomes) {
      const { id, origin, family, kind } = outcome.row;
      const body = changes.bodyOf(id);
      if (outcome.type !== 'committed' || kind === 'delete' || kind === 'remove' || body === undefined)
        continue;
      const { target, revision } = outcome.receipt;
      accepted.add({ family, target, revision, body }, origin);
    }
    changes.release(outcomes.map(({ row }) => row.id));
    void refresh();
  }

  const endReactions = runReactions(outbox, {
    apply,
    readAgain: refresh,
    tell: ({ type, ids }) => announce(SENTENCES[type](ids.length), type === 'announce' ? 'good' : 'bad'),
  });
  void refresh();
  const onOnline = (): void => void refresh();
  window.addEventListener('online', onOnline);
  const endSwitch = offlineSwitch.subscribe(() => {
    if (!offlineSwitch.getSnapshot()) void refresh();
  });

  /** An edit that folded into an earlier change has another body than its own, which is then read. */
  function note({ action, row, removed }: Handle, body: unknown): void {
    if (row && action === 'queued' && removed.length === 0) changes.noteBody(row.id, body);
  }

  /** Tells the person why a choice could not be carried out, in the error's own words. */
  async function attempt(work: () => Promise<unknown>, done?: string): Promise<void> {
    try {
      await work();
      if (done !== undefined) announce(done);
    } catch (error) {
      announce(error instanceof Error ? error.message : String(error), 'bad');
    }
  }

  return {
    account,
    outbox,
    status,
    changes,
    copy,
    accepted,
    async logWorkout(values) {
      const body = { ...values, loggedAt: Date.now() };
      note(await outbox.workout.create(body), body);
    },
    editWorkout: (workout, patch) =>
      attempt(async () => {
        note(await outbox.workout.update(workout.target, patch, { revision: workout.revision }), patch);
      }),
    deleteWorkout: (workout) =>
      attempt(
        () => outbox.workout.delete(workout.target, { revision: workout.revision }),
        `${workout.values.exercise} is deleted`,
      ),
    planDay: (date, title) =>
      attempt(async () => {
        note(await outbox.plan.put(date, { title }), { title });
      }),
    removePlan: (plan) => attempt(() => outbox.plan.remove(plan.date)),
    retry: (id, overwrite) => attempt(() => outbox.retry(id, { overwrite })),
    recover: (id, body) => attempt(() => outbox.recover(id, { body })),
    discard: (id) => attempt(() => outbox.discard(id), 'Discarded'),
    withdraw: (id) => attempt(() => outbox.cancel(id), 'Withdrawn'),
    sendNow: () => attempt(() => outbox.flush()),
    pause: () => attempt(() => outbox.pause()),
    resume: () => attempt(() => outbox.resume()),
    explain: async (id) => explainLines(await outbox.explain(id)),
    exportAll: async () =>
      new Blob([JSON.stringify(await outbox.export(), null, 2)], { type: 'application/json' }),
    signedInAgain: () => attempt(() => outbox.signIn(account.id)),
    async signOut(policy) {
      const { waiting } = await outbox.signOut(policy);
      return waiting;
    },
    close() {
      endReactions();
      endBadge();
      endSwitch();
      window.removeEventListener('online', onOnline);
      changes.close();
      outbox.close();
    },
  };
}
