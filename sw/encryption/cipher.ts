/** The port to what encrypts: Web Crypto in a browser, something quick and deterministic in simulations. */
export interface Cipher<Key> {
  /** Whether it can work here at all, without trying. */
  readonly isAvailable: boolean;
  makeKey(): Promise<Key>;
  /** Whether this is a key of this cipher, as it comes back from a database. */
  isKey(value: unknown): value is Key;
  /** Opens only with the same `context`. The same bytes never look the same twice. */
  seal(key: Key, bytes: Uint8Array<ArrayBuffer>, context: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Rejects what was altered, or sealed in another context or with another key. */
  open(key: Key, sealed: Uint8Array<ArrayBuffer>, context: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Lower-case hex, which tells nothing of the text to those who lack the key. */
  hash(key: Key, text: string): Promise<string>;
  /** How many bytes longer what is sealed is. */
  readonly overhead: number;
}
