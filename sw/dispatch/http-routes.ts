/** What an app tells the HTTP sender: one request per family and command, typed from the definition (W17). */
import type { DocumentFamily, Families, RecordFamily } from '../../shared/family.ts';
import type { CommandKind } from '../../shared/row.ts';
import type { OutputOf } from '../../shared/standard-schema.ts';
import type { AcceptedFacts } from './sender.ts';

export interface HttpRequest {
  readonly method: string;
  /** Absolute, or relative to `baseUrl`. Build it with the `url` template, which encodes ids. */
  readonly url: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is: text, bytes, a Blob, FormData. */
  readonly body?: BodyInit | undefined;
  /** Win over Holdfast's own, except for key, hash, owner and kind. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What every route may use besides target and body. */
export interface RouteContext {
  /** The idempotency key; it travels in a header already. */
  readonly id: string;
  readonly owner: string;
  /** Travels as `If-Match` already. */
  readonly expectedRevision: number | undefined;
  readonly sourceRef: string | undefined;
}

export interface WithTarget {
  readonly target: string;
}
export interface WithBody<Body> {
  readonly body: Body;
}

export type Route<Input> = (input: Input & RouteContext) => HttpRequest;

/** What an answer of this family's server says where there is no receipt (`receipts: 'none'`). */
export type ReadAccepted = (answer: {
  readonly status: number;
  readonly json: unknown;
  readonly etag: string | undefined;
  readonly location: string | undefined;
}) => AcceptedFacts;

export interface CommonRoutes {
  /** Reads one resource as it is now: conflicts may need it (D30). Its revision is the `ETag` or `revision`. */
  readonly read?: ((input: WithTarget & { readonly owner: string }) => HttpRequest) | undefined;
  readonly accepted?: ReadAccepted | undefined;
}

export interface RecordRoutes<Create, Update> extends CommonRoutes {
  readonly create?: Route<WithBody<Create>> | undefined;
  readonly update?: Route<WithTarget & WithBody<Update>> | undefined;
  readonly delete?: Route<WithTarget> | undefined;
}

export interface DocumentRoutes<Put> extends CommonRoutes {
  readonly put?: Route<WithTarget & WithBody<Put>> | undefined;
  readonly remove?: Route<WithTarget> | undefined;
}

export type RoutesOf<F> =
  F extends RecordFamily<infer Create, infer Update, string>
    ? RecordRoutes<OutputOf<Create>, OutputOf<Update>>
    : F extends DocumentFamily<infer Put>
      ? DocumentRoutes<OutputOf<Put>>
      : never;

/** A route per command of every family; one that an app never uses may be left out. */
export type HttpRoutes<F extends Families> = { readonly [Name in keyof F]: RoutesOf<F[Name]> };

/** The routes of one family once the definition's types have done their work: bodies come from its own validators. */
export type ErasedRoutes = CommonRoutes &
  Readonly<Partial<Record<CommandKind, Route<WithTarget & WithBody<unknown>>>>>;
