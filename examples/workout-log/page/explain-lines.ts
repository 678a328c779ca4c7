/** Why a change has not been sent, in lines for a curious person. */
import type { Explanation } from 'holdfast/client';

const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

const WAKES: Readonly<Record<string, string>> = {
  enqueue: 'a new change',
  connect: 'opening the log',
  visible: 'looking at it again',
  online: 'the connection coming back',
  sync: 'Background Sync',
  flush: '“Send now”',
  sign_in: 'signing in',
  timer: 'time',
  person: 'you',
};

export function explainLines(explained: Explanation | undefined): readonly string[] {
  if (explained === undefined) return ['It is no longer on this device.'];
  const { row, reason, wakes } = explained;
  const attempts = row.evidence.attempts ?? [];
  return [
    reasonLine(reason),
    ...attempts.map(
      ({ at, end, code }) => `${time.format(at)}: ${end}${code === undefined ? '' : ` (${code})`}`,
    ),
    ...(row.claim ? [`Handed over ${row.claim.fence} time${row.claim.fence === 1 ? '' : 's'}`] : []),
    ...(wakes.length > 0 ? [`Woken by: ${wakes.map((wake) => WAKES[wake] ?? wake).join(', ')}`] : []),
    `Key: ${row.id}`,
  ];
}

function reasonLine(reason: Explanation['reason']): string {
  switch (reason.type) {
    case 'ready':
      return 'Ready to leave.';
    case 'sending':
      return `Being sent; the sender has it until ${time.format(reason.leaseEndsAt)}.`;
    case 'waits_for':
      return 'Waits for the change before it.';
    case 'waits_until':
      return `Not before ${time.format(reason.at)}, by the ${reason.by === 'server' ? 'server’s' : 'engine’s'} word.`;
    case 'signed_out':
      return 'Waits for sign-in.';
    case 'paused':
      return 'Sending is paused.';
    case 'blocked':
      return `Blocked: ${reason.code}.`;
    case 'needs_receipt':
      return 'The server is asked first whether it has this already.';
    case 'other_owner':
      return 'Belongs to another account.';
    default:
      return 'Not known.';
  }
}
