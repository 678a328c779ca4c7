/** The surface of `holdfast/postgrest`: for workers whose server is PostgREST; others need not carry it. */
export { type PostgrestOptions, postgrestFailures } from './dispatch/postgrest-failures.ts';
