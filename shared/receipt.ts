/** The server's proof of what it applied for one idempotency key (D20). Nothing else counts as success. */
export interface Receipt {
  /** The idempotency key: the id of the row that was sent. */
  readonly id: string;
  /** The hash that was sent with the key (R4). */
  readonly requestHash: string;
  /** The wire kind of the command, by default `<family>.<kind>`. */
  readonly kind: string;
  /** The server's id of the resource; empty where a server without receipts did not name what it created. */
  readonly target: string;
  /** The revision after this command; a positive integer, or 0 where a server without receipts did not say. */
  readonly revision: number;
  /** The server's number for data derived from this resource; documents may be 0. Not the mirror's generation. */
  readonly generation: number;
  /** When the server committed, ISO 8601 or epoch milliseconds, as the server gave it; empty if it did not. */
  readonly committedAt: string | number;
  /** The server had applied this key before and answers from its ledger. */
  readonly replayed?: boolean;
}
