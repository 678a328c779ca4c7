/** The surface of `holdfast/shared`: what a definition needs. */
export * from './blocked-code.ts';
export type { CommandInput, EnqueueAction } from './command.ts';
export * from './errors.ts';
export * from './family.ts';
export type { Key, Target } from './key.ts';
export * from './outcome.ts';
export type { Receipt } from './receipt.ts';
export type { CommandKind, Row, RowState } from './row.ts';
export type { StandardSchema } from './standard-schema.ts';
