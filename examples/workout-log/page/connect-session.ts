/** The session of one account: an outbox, the copy of the server, and what the page does about outcomes. */
import { keepAppBadge } from 'holdfast/badge';
import { connectOutbox, type Outbox } from 'holdfast/client';
import { SENTENCES, watchPending } from 'holdfast/reactions';
import { definition } from '../definition/outbox.ts';
import type { Account } from './account.ts';
import { announce } from './announcer.tsx';
import { encryptionChoice } from './device-choice.ts';
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
  const pending = watchPending(outbox, {
    async refetch() {
      if (!(await copy.refresh())) throw new Error('The server could not be read');
    },
    apply(steps) {
      for (const step of steps) {
        if (step.type === 'drop' && step.resource.target !== undefined) {
          copy.drop(step.resource.family, step.resource.target);
        }
      }
    },
    mayKeep: () => !encryptionChoice.getSnapshot(),
    tell: ({ type, ids }) => announce(SENTENCES[type](ids.length), type === 'announce' ? 'good' : 'bad'),
  });
  const changes = watchChanges(pending, copy);
  const status = watchStatus(outbox);
  const endBadge = keepAppBadge(outbox.view);

  /** Without a connection the copy stays as it is; coming online reads it again. */
  const refresh = (): Promise<void> => pending.refetch().catch(() => undefined);
  void refresh();
  const onOnline = (): void => void refresh();
  window.addEventListener('online', onOnline);
  const endSwitch = offlineSwitch.subscribe(() => {
    if (!offlineSwitch.getSnapshot()) void refresh();
  });

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
    changes: changes.waiting,
    copy,
    accepted: changes.accepted,
    async logWorkout(values, { isUrgent, expiresAt } = { isUrgent: false }) {
      const body = { ...values, loggedAt: Date.now() };
      const options = { ...(isUrgent && { urgent: true }), ...(expiresAt !== undefined && { expiresAt }) };
      pending.note(await outbox.workout.create(body, options), body);
    },
    attachPhoto: (workout, picture) =>
      attempt(
        () => outbox.photo.create({ picture }, { under: { workout: workout.target } }),
        `The photo of ${workout.values.exercise} is saved on this device`,
      ),
    editWorkout: (workout, patch) =>
      attempt(async () => {
        pending.note(
          await outbox.workout.update(workout.target, patch, { revision: workout.revision }),
          patch,
        );
      }),
    deleteWorkout: (workout) =>
      attempt(
        () => outbox.workout.delete(workout.target, { revision: workout.revision }),
        `${workout.values.exercise} is deleted`,
      ),
    planDay: (date, title) =>
      attempt(async () => {
        pending.note(await outbox.plan.put(date, { title }), { title });
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
      endBadge();
      endSwitch();
      window.removeEventListener('online', onOnline);
      changes.close();
      pending.close();
      outbox.close();
    },
  };
}
