/**
 * The outbox: commands in, and what a person does with rows (R8-R37, R42). Read → plan → commit, and on `stale`
 * again, at least three times and until the call's deadline. Stores and answers; sends nothing, and knows no server
 * and no page.
 */
import type { CommandInput } from '../../shared/command.ts';
import { OutboxContentionError } from '../../shared/errors.ts';
import { type Key, keyToken } from '../../shared/key.ts';
import { admitBody, copyBody, MAX_BODY_BYTES } from './admit-body.ts';
import type { AdmittedCommand } from './admitted-command.ts';
import { checkCommand, hasBody } from './check-command.ts';
import { createEnqueue, type EnqueueDeps, type Round } from './enqueue.ts';
import { fillBody, type NamedParent } from './fill-body.ts';
import { hashRequest } from './hash-request.ts';
import type { CallOptions, Outbox } from './outbox-calls.ts';
import { createPersonChoices } from './person-choices.ts';
import { createTurns } from './take-turns.ts';

export interface OutboxOptions {
  /** For how long a call whose key others keep changing is tried again, in ms, where it names no deadline. */
  readonly patienceMs?: number | undefined;
}

const MIN_ROUNDS = 3;

export function createOutbox(deps: EnqueueDeps, { patienceMs = 10_000 }: OutboxOptions = {}): Outbox {
  const takeTurn = createTurns();

  function inTurn<T>(key: Key, deadlineAt: number, round: () => Round<T>): Promise<T> {
    return takeTurn(keyToken(key), async () => {
      await deps.ready?.();
      for (let number = 1; ; number++) {
        const answer = await round();
        if (answer !== undefined) return answer;
        if (number >= MIN_ROUNDS && deps.clock.now() >= deadlineAt)
          throw new OutboxContentionError('Others kept changing the same row', { rounds: number });
      }
    });
  }

  function deadlineOf({ deadlineAt }: CallOptions): number {
    return deadlineAt ?? deps.clock.now() + patienceMs;
  }

  /** What the caller handed over is copied before this returns (A72); the promise does the rest. */
  function admit(
    input: CommandInput,
    deadlineAt: number,
    isOwn: boolean,
  ): { readonly key: Key; readonly admitted: Promise<AdmittedCommand> } {
    const { family, key, schema } = checkCommand(input, deps.families);
    const { body, target: _, under = {}, ...rest } = input;
    const { kind, expectedRevision, tags } = rest;
    const parents: NamedParent[] = [];
    const after = [...(rest.after ?? [])];
    for (const [parent, ref] of Object.entries(under)) {
      if (typeof ref === 'object' && ref.type === 'pending') after.push(ref.origin);
      else if (ref !== undefined)
        parents.push({ family: parent, target: typeof ref === 'object' ? ref.id : ref });
    }
    const own = { ...rest, tags: tags && [...tags], after };
    const copy = isOwn ? body : copyBody(body);
    const limitMs = Math.max(1, deadlineAt - deps.clock.now());
    const fill = (given: unknown) => fillBody(family, given, parents);
    const maxBytes = family.maxBodyBytes ?? MAX_BODY_BYTES;
    const finish = async (): Promise<AdmittedCommand> => {
      const content = hasBody(kind)
        ? await admitBody(deps, copy, { owner: key.owner, schema, maxBytes, limitMs, fill })
        : undefined;
      const { bodyDigest } = content ?? {};
      const request = { kind, target: key.target, expectedRevision, bodyDigest, after: own.after };
      return { input: own, key, family, content, requestHash: await hashRequest(deps.digest, request) };
    };
    return { key, admitted: finish() };
  }

  return {
    async enqueue(input, options = {}) {
      const deadlineAt = deadlineOf(options);
      const { key, admitted } = admit(input, deadlineAt, options.isOwn ?? false);
      // Its turn may come after it has failed; the failure is told then.
      admitted.catch(() => undefined);
      return inTurn(key, deadlineAt, createEnqueue(deps, admitted));
    },
    ...createPersonChoices(deps, { inTurn, deadlineOf }),
  };
}
