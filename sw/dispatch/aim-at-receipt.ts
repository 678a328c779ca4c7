/** The `prepareSuccessor` of a family that has none of its own (C21, W60): what most servers need. */
import type { PrepareSuccessor } from './family-ports.ts';

/**
 * A change to something just created aims at the id and the revision that its receipt names. What only waited for
 * others goes as it is.
 */
export const aimAtReceipt: PrepareSuccessor = ({ intent, receipt }) => {
  const { kind, target, expectedRevision } = intent;
  if (target.type === 'id') return { target: target.id, expectedRevision };
  if (kind === 'create') return { target: '' };
  // A server without receipts may not have said which revision it made (0).
  return { target: receipt.target, expectedRevision: receipt.revision > 0 ? receipt.revision : undefined };
};
