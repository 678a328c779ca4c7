/** The Standard Schema interface, version 1 (standardschema.dev): any validator that speaks it fits. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InputOf<S> = S extends StandardSchema<infer Input, unknown> ? Input : never;
export type OutputOf<S> = S extends {
  readonly '~standard': { readonly types?: { readonly output: infer O } | undefined };
}
  ? O
  : never;
