/** The credentials port (W31): headers at send time. What it gives lives in memory only. */

export type CredentialsOffer =
  /** Headers to send with. `account`, where known, must be the row's owner, else rows are held (W30). */
  | {
      readonly type: 'headers';
      readonly headers: Readonly<Record<string, string>>;
      readonly account?: string | undefined;
    }
  /** Nobody is signed in: rows are held, not failed. */
  | { readonly type: 'none' };

export interface Credentials {
  /** `refused`: headers given before were answered with 401, so the same ones will not do. */
  offer(owner: string, refused: boolean): Promise<CredentialsOffer>;
}
