/** Revisions, look-ups, owners, the shape of errors, batches (V3-V5, V7). */
import type { Check } from './check.ts';
import type { CheckConfig } from './config.ts';
import { broken, isSuccess, problemOf, receiptOf, sameReceipt } from './judge.ts';
import { createOne, readOne } from './ledger-checks.ts';
import { describeSeen, type Probe, type ProbeCommand, type Seen } from './probe.ts';

const noSuchReceipt = (answer: Seen) => problemOf(answer, [404], 'no_such_receipt');

async function readText(probe: Probe, target: string): Promise<string | undefined> {
  const answer = await readOne(probe, target);
  if (answer && !isSuccess(answer)) broken(`reading the resource answered ${describeSeen(answer)}`);
  return answer?.text;
}

export const httpChecks: readonly Check[] = [
  {
    name: 'revision-conflict',
    clause: 'V3',
    title: 'an update or delete at another revision is refused with the actual one, and changes nothing',
    weight: 'must',
    advice:
      'Compare If-Match with the stored revision inside the transaction (update … where revision = $expected) and ' +
      'answer 412, or 409, as a problem revision_conflict with "actual_revision". Without it edits from two devices ' +
      'overwrite each other; without the number the engine cannot resend.',
    run: async (probe) => {
      const { config } = probe;
      const { receipt, target } = await createOne(probe);
      const first = probe.command(config.update, { target, expectedRevision: receipt.revision });
      const now = receiptOf(first, await probe.send(first), target).revision;
      const before = await readText(probe, target);
      for (const route of [config.update, config.delete]) {
        const stale = probe.command(route, { target, expectedRevision: receipt.revision });
        const problem = problemOf(await probe.send(stale), [409, 412]);
        if (problem['actual_revision'] !== now)
          broken(
            `${route.method} refused, with actual_revision ${JSON.stringify(problem['actual_revision'])}, not ${now}`,
          );
      }
      if ((await readText(probe, target)) !== before) broken('a refused command changed the resource');
      const fits = probe.command(config.update, { target, expectedRevision: now });
      receiptOf(fits, await probe.send(fits), target);
    },
  },
  {
    name: 'read',
    clause: 'V3',
    title: 'a resource can be read, and says its revision',
    weight: 'should',
    missing: ({ config }) =>
      config.read === undefined
        ? 'no "read" in the configuration. A conflict is then settled without what the server has now, and it was ' +
          'not seen whether a refused change left the resource alone'
        : undefined,
    advice:
      'Answer GET of one resource with ETag: "<revision>" or a member "revision". Who resolves a conflict, your ' +
      "resolver or a person, sees the server's version by it, and resends at that revision.",
    run: async (probe) => {
      const { receipt, target } = await createOne(probe);
      const answer = await readOne(probe, target);
      if (!answer || !isSuccess(answer))
        return broken(`reading the resource answered ${answer ? describeSeen(answer) : 'nothing'}`);
      const etag = answer.headers.get('etag');
      const revision = answer.json?.['revision'];
      if (etag !== `"${receipt.revision}"` && revision !== receipt.revision)
        broken(
          `at revision ${receipt.revision} ETag is ${etag ?? 'missing'} and "revision" ${revision ?? 'missing'}`,
        );
    },
  },
  {
    name: 'one-of-many-updates',
    clause: 'V3',
    title: 'of ten updates from one revision at once, one is applied',
    weight: 'must',
    advice:
      'Read-compare-write lets two writers pass. Compare in the update itself, or lock the row first ' +
      '(select … for update).',
    run: async (probe) => {
      const { receipt, target } = await createOne(probe);
      const update = () => probe.command(probe.config.update, { target, expectedRevision: receipt.revision });
      const answers = await probe.attemptAtOnce(Array.from({ length: 10 }, update));
      const applied = answers.filter(isSuccess).length;
      if (applied !== 1) broken(`${applied} of 10 updates that expected the same revision were applied`);
    },
  },
  {
    name: 'etag',
    clause: 'V4',
    title: 'answers carry the revision as ETag',
    weight: 'should',
    advice:
      'Send ETag: "<revision>" with reads and with accepted changes, so that plain HTTP clients can use it.',
    run: async (probe) => {
      const command = probe.command(probe.config.create);
      const answer = await probe.send(command);
      const { revision } = receiptOf(command, answer);
      if (answer.headers.get('etag') !== `"${revision}"`)
        broken(`ETag is ${answer.headers.get('etag') ?? 'missing'} at revision ${revision}`);
    },
  },
  {
    name: 'look-up',
    clause: 'V4',
    title: 'the receipt of a key can be looked up, again and again',
    weight: 'must',
    advice:
      'Answer GET with 200 {"receipt": …} as it was given. The engine asks this after a loss of data, and for ' +
      'changes whose first attempt may have arrived.',
    run: async (probe) => {
      const { command, receipt } = await createOne(probe);
      for (let n = 0; n < 2; n++) {
        const found = receiptOf(command, await probe.lookUp(command.id), receipt.target);
        if (found.revision !== receipt.revision || found.committedAt !== receipt.committedAt)
          broken(
            `the look-up names revision ${found.revision} of ${found.committedAt}, not ${receipt.revision}`,
          );
      }
    },
  },
  {
    name: 'look-up-none',
    clause: 'V4',
    title: 'a key without a receipt is 404 no_such_receipt, and asking does not use it up',
    weight: 'must',
    advice:
      'Answer 404 as application/problem+json of type urn:holdfast:problem:no_such_receipt. A bare 404 may be a ' +
      'proxy\'s or a wrong route\'s, and is never taken for "nothing was applied".',
    run: async (probe) => {
      const command = probe.command(probe.config.create);
      noSuchReceipt(await probe.lookUp(command.id));
      const receipt = receiptOf(command, await probe.send(command));
      if (receipt.replayed === true) broken('a key that was only asked for counts as used');
    },
  },
  {
    name: 'look-up-own',
    clause: 'V4',
    title: 'an account finds only its own receipts',
    weight: 'must',
    advice: "Look the key up under the signed-in account; the same 404 no_such_receipt for somebody else's.",
    run: async (probe) => {
      const { command } = await createOne(probe);
      noSuchReceipt(await probe.lookUp(command.id, { account: 1 }));
    },
  },
  {
    name: 'look-up-source-ref',
    clause: 'V4',
    title: 'a look-up that names another sourceRef finds nothing',
    weight: 'must',
    advice:
      "Store the Holdfast-Source-Ref header with the key and compare it with the query's sourceRef; a mismatch is " +
      '404 no_such_receipt.',
    run: async (probe) => {
      const command = probe.command(probe.config.create, { sourceRef: 'draft 1' });
      receiptOf(command, await probe.send(command));
      receiptOf(command, await probe.lookUp(command.id, { sourceRef: 'draft 1' }));
      noSuchReceipt(await probe.lookUp(command.id, { sourceRef: 'draft 2' }));
    },
  },
  {
    name: 'owner',
    clause: 'V5',
    title: 'a request of another account than the one signed in is 401 owner_mismatch and changes nothing',
    weight: 'must',
    advice:
      'Compare the Holdfast-Owner header with the signed-in account before anything else. Otherwise what one person ' +
      'saved before signing out lands in the account of the next.',
    run: async (probe) => {
      const command = probe.command(probe.config.create, { account: 1, owner: probe.owner(0) });
      problemOf(await probe.send(command), [401], 'owner_mismatch');
      for (const account of [0, 1] as const) noSuchReceipt(await probe.lookUp(command.id, { account }));
    },
  },
  {
    name: 'signed-out',
    clause: 'V5',
    title: 'a request without credentials is 401, not a redirect and not a page',
    weight: 'must',
    advice:
      'Answer API routes with 401 problem+json where nobody is signed in; a login page is taken for a portal.',
    run: async (probe) => {
      problemOf(await probe.send(probe.command(probe.config.create, { signedOut: true })), [401]);
    },
  },
  {
    name: 'errors',
    clause: 'V4',
    title: "errors are problem documents, and bad input is the client's error",
    weight: 'must',
    advice:
      'Answer every error of the API as application/problem+json (RFC 9457) with "type", "title" and "status". A 5xx ' +
      'is sent again for ever; a 4xx is shown to the person.',
    run: async (probe) => {
      const { config } = probe;
      const fine = probe.command(config.create);
      const malformed: ProbeCommand = { ...fine, body: '{"' };
      const shape = problemOf(await probe.send(malformed), [400, 415, 422]);
      for (const member of ['type', 'title', 'status'])
        if (!Object.hasOwn(shape, member)) broken(`the problem document has no "${member}"`);
      const unknown = probe.command(config.update, { target: 'holdfast-no-such-resource' });
      problemOf(await probe.send(unknown), [404, 410]);
      const keyless = Object.entries(fine.headers).filter(([name]) => name !== 'idempotency-key');
      problemOf(await probe.send({ ...fine, headers: Object.fromEntries(keyless) }), [400, 422]);
    },
  },
  {
    name: 'gone',
    clause: 'V3',
    title: 'a deleted resource answers update and delete with 404 or 410 as a problem document',
    weight: 'must',
    advice:
      "An empty 404 may be a proxy's, and is sent again; with a problem document the delete counts as done.",
    run: async (probe) => {
      const { config } = probe;
      const { target } = await createOne(probe);
      const remove = probe.command(config.delete, { target });
      receiptOf(remove, await probe.send(remove), target);
      for (const route of [config.update, config.delete])
        problemOf(await probe.send(probe.command(route, { target })), [404, 410]);
    },
  },
  {
    name: 'retry-after',
    clause: 'V4',
    title: 'every 429 and 503 says when to come back',
    weight: 'should',
    advice: 'Send Retry-After in seconds; without it the engine guesses, from 2 s to 5 min.',
    run: async (probe) => {
      const mute = probe
        .seen()
        .find(({ status, headers }) => (status === 429 || status === 503) && !headers.has('retry-after'));
      if (mute) broken(`an answer was ${describeSeen(mute)} without Retry-After`);
    },
  },
  {
    name: 'document',
    clause: 'V2',
    title: 'a document put twice with one key is put once, and a late put after a remove brings nothing back',
    weight: 'must',
    missing: ({ config }) => (config.document ? undefined : 'no "document" in the configuration'),
    advice:
      'The ledger comes before the resource for documents too: an applied key is answered with its receipt.',
    run: async (probe) => {
      const { target, put, remove, read } = documentOf(probe.config);
      const first = probe.command(put, { target });
      const receipt = receiptOf(first, await probe.send(first), target);
      sameReceipt(first, receipt, await probe.send(first));
      const removal = probe.command(remove, { target });
      receiptOf(removal, await probe.send(removal), target);
      sameReceipt(first, receipt, await probe.send(first));
      const now = await probe.get(read.replaceAll('{target}', encodeURIComponent(target)));
      if (isSuccess(now)) broken(`the removed document is there again: ${describeSeen(now)}`);
    },
  },
  {
    name: 'batch',
    clause: 'V7',
    title: 'a batch answers each command with its own receipt, in order, and keeps a failure to its command',
    weight: 'must',
    missing: ({ config }) => (config.batch === undefined ? 'no "batch" in the configuration' : undefined),
    advice:
      'Give every command its own transaction and answer {id, status, headers, body}, in the order of the request; ' +
      'a refused one must not undo or stop the others. A repeated batch replays what was applied.',
    run: async (probe) => {
      const { config } = probe;
      const { target, receipt } = await createOne(probe);
      const stale = probe.command(config.update, { target, expectedRevision: receipt.revision + 5 });
      const commands = [probe.command(config.create), stale, probe.command(config.create)];
      const first = await readBatch(probe, commands);
      if (isSuccess(at(first, 1))) broken('a command at a wrong revision was applied in a batch');
      const receipts = [0, 2].map((index) => receiptOf(at(commands, index), at(first, index)));
      const second = await readBatch(probe, commands);
      for (const [n, index] of [0, 2].entries())
        sameReceipt(at(commands, index), at(receipts, n), at(second, index));
    },
  },
];

async function readBatch(probe: Probe, commands: readonly ProbeCommand[]): Promise<readonly Seen[]> {
  const answer = await probe.batch(probe.config.batch ?? '', commands);
  const parts = answer.json?.['answers'];
  if (!isSuccess(answer) || !Array.isArray(parts) || parts.length !== commands.length)
    return broken(
      `the batch answered ${describeSeen(answer)}, not {"answers": [${commands.length} of them]}`,
    );
  return parts.map((part: unknown, index) => {
    if (typeof part !== 'object' || part === null) return broken(`answer ${index} is no object`);
    const members = new Map<string, unknown>(Object.entries(part));
    if (members.get('id') !== at(commands, index).id) broken(`answer ${index} is about another command`);
    const text = JSON.stringify(members.get('body') ?? null);
    const json: unknown = JSON.parse(text);
    const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
    return {
      status: Number(members.get('status')),
      headers: new Headers({ 'content-type': 'application/problem+json' }),
      text,
      json: isObject ? Object.fromEntries(Object.entries(json)) : undefined,
    };
  });
}

function documentOf({ document }: CheckConfig) {
  return document ?? broken('no "document" in the configuration');
}

function at<T>(list: readonly T[], index: number): T {
  return list[index] ?? broken(`nothing at ${index}`);
}
