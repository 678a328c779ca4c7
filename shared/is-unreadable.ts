/** By code, so that a page which asks carries no class for it. */
const CODES = /^(outbox_unavailable|idb_blocked|store_timeout)$/;

/** IndexedDB could not be opened or read: what is there may still be shown from a witness (S15). */
export const isUnreadable = (error: unknown): boolean => CODES.test(Object(error).code);
