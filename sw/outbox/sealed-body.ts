/**
 * How an encrypted body is told from any other (W63). Pure. Its mark is a text with a lone surrogate, which no body
 * that was admitted can hold (R4), and which JSON carries all the same, for a page's snapshot.
 */
import { isRecord } from '../../shared/row-codec.ts';

export const SEAL = '\ud83d 1';

export interface SealedBody {
  readonly seal: typeof SEAL;
  /** The id of the key it was sealed with. */
  readonly key: string;
  /** What the encryption made of the body; nobody else looks into it. */
  readonly content: unknown;
}

export function isSealed(body: unknown): body is SealedBody {
  return isRecord(body) && body['seal'] === SEAL;
}
