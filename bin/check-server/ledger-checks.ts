/** Once per key (V1, V2): the same key again, at once, after a lost answer, and much too late. */
import type { Receipt } from '../../shared/receipt.ts';
import type { Check } from './check.ts';
import { broken, isSuccess, problemOf, receiptOf, sameReceipt } from './judge.ts';
import { describeSeen, type Probe, type ProbeCommand, type Seen } from './probe.ts';

const SAME_TRANSACTION =
  'Write the key into a ledger with a unique (owner, key) in the transaction of the change itself, before the ' +
  'change; where the key is there already, answer its stored receipt with "replayed": true and change nothing.';

/** How fast the server under test is cannot be known; one of these meets it between applying and answering. */
const LEAVE_AFTER_MS = [0, 2, 5, 10, 20, 50, 100, 200];

export async function createOne(
  probe: Probe,
): Promise<{ command: ProbeCommand; receipt: Receipt; target: string }> {
  const command = probe.command(probe.config.create);
  const receipt = receiptOf(command, await probe.send(command));
  return { command, receipt, target: receipt.target };
}

/** The resource as it is read now; `undefined` where the configuration names no way to read it. */
export async function readOne(probe: Probe, target: string): Promise<Seen | undefined> {
  const { read } = probe.config;
  return read === undefined ? undefined : probe.get(read.replaceAll('{target}', encodeURIComponent(target)));
}

/** Runs `work` and demands that the list grew by `wanted`, where there is a list. */
async function growsBy(probe: Probe, wanted: number, work: () => Promise<unknown>): Promise<void> {
  const before = await probe.count();
  await work();
  const after = await probe.count();
  if (before === undefined || after === undefined) return;
  if (after - before !== wanted)
    broken(`the list grew by ${after - before}, not by ${wanted}: it was applied ${after - before} times`);
}

export const ledgerChecks: readonly Check[] = [
  {
    name: 'receipt',
    clause: 'V1',
    title: 'create, update and delete answer with a receipt of what was done',
    weight: 'must',
    advice:
      'Answer 2xx with a JSON member "receipt": {id, requestHash, kind, target, revision, generation, committedAt}, ' +
      'id and requestHash as sent. Without it the engine shows the change as "result unknown".',
    run: async (probe) => {
      const { config } = probe;
      const { target, receipt } = await createOne(probe);
      const update = probe.command(config.update, { target, expectedRevision: receipt.revision });
      const updated = receiptOf(update, await probe.send(update), target);
      if (updated.revision <= receipt.revision)
        broken(`the update's revision ${updated.revision} is not above the create's ${receipt.revision}`);
      const remove = probe.command(config.delete, { target, expectedRevision: updated.revision });
      const removed = receiptOf(remove, await probe.send(remove), target);
      if (removed.revision < updated.revision)
        broken(`the delete's revision ${removed.revision} is below the update's ${updated.revision}`);
    },
  },
  {
    name: 'same-key-twice',
    clause: 'V2',
    title: 'the same key and hash answer the same receipt, and nothing is applied again',
    weight: 'must',
    advice: `A repeat after a lost answer makes doubles. ${SAME_TRANSACTION}`,
    run: async (probe) => {
      await growsBy(probe, 1, async () => {
        const { command, receipt } = await createOne(probe);
        sameReceipt(command, receipt, await probe.send(command));
        const update = probe.command(probe.config.update, { target: receipt.target });
        const updated = receiptOf(update, await probe.send(update), receipt.target);
        sameReceipt(update, updated, await probe.send(update));
      });
    },
  },
  {
    name: 'same-key-other-content',
    clause: 'V2',
    title: 'the same key with other content is refused with 422 idempotency_key_reused',
    weight: 'must',
    advice:
      'Store the request hash with the key and compare. Answering the first receipt would show a change as saved ' +
      'that was not; applying it would use one key for two changes.',
    run: async (probe) => {
      const { config } = probe;
      await growsBy(probe, 1, async () => {
        const { command, receipt } = await createOne(probe);
        const other = probe.command(config.create, { id: command.id, body: config.create.otherBody });
        problemOf(await probe.send(other), [422], 'idempotency_key_reused');
        sameReceipt(command, receipt, await probe.send(command));
      });
    },
  },
  {
    name: 'same-key-at-once',
    clause: 'V2',
    title: 'of 20 requests with one key at once, one is applied',
    weight: 'must',
    advice:
      'Look-up-then-insert lets two requests through at once. Let the unique key decide: insert the ledger row first ' +
      '(insert … on conflict do nothing); whoever inserts nothing waits, then answers the stored receipt, or 409 ' +
      'in_progress with Retry-After.',
    run: async (probe) => {
      await growsBy(probe, 1, async () => {
        const command = probe.command(probe.config.create);
        const answers = await probe.attemptAtOnce(Array(20).fill(command));
        const receipts = answers
          .filter((answer) => answer.status !== 409)
          .map((answer) => receiptOf(command, answer));
        const targets = new Set(receipts.map((receipt) => receipt.target));
        if (targets.size > 1) broken(`20 requests with one key made ${targets.size} resources`);
        const first = receipts.filter((receipt) => receipt.replayed !== true).length;
        if (first > 1) broken(`${first} of 20 answers claim to be the first one (no "replayed": true)`);
        receiptOf(command, await probe.send(command), receipts[0]?.target);
      });
    },
  },
  {
    name: 'in-progress-says-when',
    clause: 'V2',
    title: 'whatever answers "in progress" is 409 with Retry-After',
    weight: 'must',
    advice:
      'A 409 without Retry-After or the problem type in_progress is taken for a conflict and blocks the change. ' +
      'Send Retry-After (seconds) and the type urn:holdfast:problem:in_progress.',
    run: async (probe) => {
      const command = probe.command(probe.config.create);
      const answers = await probe.attemptAtOnce(Array(20).fill(command));
      for (const answer of answers.filter((one) => !isSuccess(one) && ![429, 503].includes(one.status))) {
        problemOf(answer, [409], 'in_progress');
        if (!/^\d+$/.test(answer.headers.get('retry-after') ?? ''))
          broken(`409 in_progress has Retry-After ${answer.headers.get('retry-after') ?? 'missing'}`);
      }
    },
  },
  {
    name: 'lost-answer',
    clause: 'V2',
    title: 'a repeat after a lost answer finds what was applied',
    weight: 'must',
    advice: `The client left before the answer; what was applied must be in the ledger all the same. ${SAME_TRANSACTION}`,
    run: async (probe) => {
      await growsBy(probe, LEAVE_AFTER_MS.length, async () => {
        for (const afterMs of LEAVE_AFTER_MS) {
          const command = probe.command(probe.config.create);
          await probe.sendAndLeave(command, afterMs);
          receiptOf(command, await probe.send(command));
        }
      });
    },
  },
  {
    name: 'late-duplicate',
    clause: 'V2',
    title: 'a late duplicate from before a delete brings nothing back',
    weight: 'must',
    advice:
      'Look into the ledger before you look at the resource: a key that was applied is answered with its receipt, ' +
      'even if the resource has been deleted since. Do not delete ledger rows along with the resource.',
    run: async (probe) => {
      const { config } = probe;
      await growsBy(probe, 0, async () => {
        const { command, receipt, target } = await createOne(probe);
        const update = probe.command(config.update, { target, expectedRevision: receipt.revision });
        const updated = receiptOf(update, await probe.send(update), target);
        const remove = probe.command(config.delete, { target });
        receiptOf(remove, await probe.send(remove), target);
        sameReceipt(command, receipt, await probe.send(command));
        sameReceipt(update, updated, await probe.send(update));
        const now = await readOne(probe, target);
        if (now && isSuccess(now)) broken(`the deleted resource is there again: ${describeSeen(now)}`);
      });
    },
  },
  {
    name: 'refused-stays-refused',
    clause: 'V2',
    title: 'a key that was refused for good is never applied later',
    weight: 'should',
    advice:
      'A late duplicate of a refused request may meet a resource that has changed since and be applied after all, ' +
      'while the device has long told the person that it was refused. Keep refusals in the ledger too.',
    run: async (probe) => {
      const { config } = probe;
      const { receipt, target } = await createOne(probe);
      const early = probe.command(config.update, { target, expectedRevision: receipt.revision + 1 });
      problemOf(await probe.send(early), [409, 412]);
      const update = probe.command(config.update, { target, expectedRevision: receipt.revision });
      const updated = receiptOf(update, await probe.send(update), target);
      if (updated.revision !== receipt.revision + 1) return;
      const late = await probe.send(early);
      if (isSuccess(late)) broken(`a refused key was applied when it came again: ${describeSeen(late)}`);
    },
  },
  {
    name: 'keys-per-account',
    clause: 'V1',
    title: "the same key of two accounts is two keys, and neither sees the other's",
    weight: 'must',
    advice: 'Make the ledger unique by (owner, key), and take the owner from the signed-in account.',
    run: async (probe) => {
      const { command, receipt } = await createOne(probe);
      const other = probe.command(probe.config.create, { id: command.id, account: 1 });
      const theirs = receiptOf(other, await probe.send(other));
      await remove(probe, theirs.target, 1);
      if (theirs.target === receipt.target)
        broken("the second account was answered with the first one's resource");
    },
  },
];

export async function remove(probe: Probe, target: string, account: 0 | 1 = 0): Promise<void> {
  await probe.send(probe.command(probe.config.delete, { target, account }));
}
