/** What a scripted server can be told to do to one request, in the order of V9. */
import type { Receipt } from '../../shared/receipt.ts';
import type { Answer, SendRequest } from '../dispatch/sender.ts';

export type ScriptedFault =
  /** Answers as usual, `ms` later. The change is applied when the request arrives. */
  | { readonly type: 'delay'; readonly ms: number }
  /** Works on the first request of an id for `ms`, aborted or not; meanwhile others of that id hear "in progress". */
  | { readonly type: 'slow'; readonly ms: number; readonly retryAfter?: string | undefined }
  /** Applies, then the connection is lost. */
  | { readonly type: 'drop_answer' }
  /** Applies and never answers. */
  | { readonly type: 'hang' }
  /** The connection is lost before anything was applied. */
  | { readonly type: 'reset' }
  | {
      readonly type: 'status';
      readonly status: number;
      readonly retryAfter?: string | undefined;
      /** Code of a problem document; without one the answer is plain text. */
      readonly code?: string | undefined;
      readonly json?: unknown;
    }
  | { readonly type: 'unauthorized' }
  /** 200 with somebody's sign-in page. */
  | { readonly type: 'portal' }
  /** Applies, and answers with a receipt in which these fields are off. */
  | { readonly type: 'wrong_receipt'; readonly fields: Readonly<Partial<Record<keyof Receipt, unknown>>> }
  /** Applies, and answers without a receipt. */
  | { readonly type: 'no_receipt' }
  /** A revision conflict; without `actual` the resource's own revision, or one more than expected. */
  | { readonly type: 'conflict'; readonly actual?: number | undefined }
  /** Anything else. `applies` says whether the change is made first. */
  | { readonly type: 'answer'; readonly answer: Answer; readonly applies?: boolean | undefined };

export type RequestMatch = (request: SendRequest) => boolean;

export function jsonAnswer(
  status: number,
  json: unknown,
  extra: { readonly retryAfter?: string | undefined; readonly etag?: string | undefined } = {},
): Answer {
  return {
    type: 'response',
    status,
    ok: status >= 200 && status < 300,
    redirected: false,
    secure: true,
    contentType: status < 300 ? 'application/json' : 'application/problem+json',
    json,
    retryAfter: extra.retryAfter,
    etag: extra.etag,
    date: undefined,
  };
}

export function problemAnswer(
  status: number,
  code: string,
  extra: { readonly retryAfter?: string | undefined; readonly json?: object | undefined } = {},
): Answer {
  return jsonAnswer(
    status,
    { type: `urn:holdfast:problem:${code}`, title: code, status, ...extra.json },
    extra,
  );
}

export function textAnswer(status: number, contentType: string, retryAfter?: string | undefined): Answer {
  const answer = jsonAnswer(status, undefined, { retryAfter });
  return answer.type === 'response' ? { ...answer, contentType } : answer;
}

export function networkFailure(timedOut = false): Answer {
  const error = timedOut ? new DOMException('Aborted', 'AbortError') : new TypeError('Failed to fetch');
  return { type: 'failure', error, timedOut };
}
