/**
 * A request of which everything but the last byte has arrived: so that many can be finished in one instant, and
 * so that a client can be known to leave after its request was whole.
 */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface HeldRequest {
  /** Sends the last byte and reads the answer. Rejects if the connection breaks. */
  finish(): Promise<RawAnswer>;
  /** Sends the last byte and closes the connection so many ms later, whatever has been answered by then. */
  finishAndLeave(afterMs: number): Promise<void>;
}

export interface HeldOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** At least one byte. */
  readonly body: string;
  readonly timeoutMs: number;
}

export async function holdRequest(url: URL, options: HeldOptions): Promise<HeldRequest> {
  const { method, headers, timeoutMs } = options;
  const bytes = Buffer.from(options.body);
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const sending = open(url, {
    method,
    headers: { ...headers, 'content-length': bytes.length },
    // A connection of its own: nothing waits behind another request.
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answered = new Promise<RawAnswer>((resolve, reject) => {
    sending.once('error', reject);
    sending.once('response', (response) => readAnswer(response).then(resolve, reject));
  });
  // Whoever leaves does not wait for this.
  answered.catch(() => undefined);
  await Promise.race([written(sending, bytes.subarray(0, -1)), answered]);
  return {
    finish: () => {
      sending.end(bytes.subarray(-1));
      return answered;
    },
    finishAndLeave: async (afterMs) => {
      await new Promise<void>((resolve) => sending.end(bytes.subarray(-1), () => resolve()));
      await wait(afterMs);
      sending.destroy();
    },
  };
}

/** Resolves when the bytes have left, connection included. */
function written(sending: ClientRequest, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    sending.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

async function readAnswer(response: IncomingMessage): Promise<RawAnswer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  return { status: response.statusCode ?? 0, headers, text: Buffer.concat(chunks).toString('utf8') };
}
