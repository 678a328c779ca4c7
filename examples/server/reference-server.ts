/**
 * The reference server: the composition root that puts ledger, routes, the demo's tables, fault switches and
 * files together. See docs/server.md.
 */
import type { Database } from './database/database.ts';
import { migrate } from './database/migrate.ts';
import { noteEffect, noteNothing } from './demo/change-notes.ts';
import { photoCommands, photoReads } from './demo/photos.ts';
import { planCommands, planReads } from './demo/plans.ts';
import { workoutCommands, workoutReads } from './demo/workouts.ts';
import { createFaultSwitches, type FaultSwitches } from './faults/fault-switches.ts';
import { type Exchange, type Intercept, intercepted } from './http/exchange.ts';
import { listen } from './http/http-listener.ts';
import { createRequestLog, type LoggedRequest } from './http/request-log.ts';
import { createRouter, type Route } from './http/router.ts';
import { createStaticFiles, STRICT_POLICY } from './http/static-files.ts';
import { createLedger, type Ledger } from './ledger/ledger.ts';
import type { Retention } from './ledger/retention.ts';
import { batchRoute } from './routes/batch-route.ts';
import { type CommandRoute, toRoute } from './routes/command-routes.ts';
import { receiptRoutes } from './routes/receipt-routes.ts';
import { type AccountWithPassword, createSignIn, DEMO_ACCOUNTS } from './routes/sign-in.ts';
import { type LedgerStatistics, readStatistics, testRoutes } from './routes/test-routes.ts';

export interface ReferenceServerOptions {
  /** Stays open when the server closes: another may follow on the same one. */
  readonly database: Database;
  /** Files to serve, looked through in order. */
  readonly staticDir?: string | readonly string[] | undefined;
  /** 0, the default, takes any free one. */
  readonly port?: number | undefined;
  /** The loopback interface by default. */
  readonly host?: string | undefined;
  /** Fault switches, request log and `/api/_test/`; on by default, to be off in production. */
  readonly faults?: boolean | undefined;
  readonly accounts?: readonly AccountWithPassword[] | undefined;
  readonly retention?: Retention | undefined;
  /** `false` for none; by default the strict one. */
  readonly contentSecurityPolicy?: string | false | undefined;
  /** Bytes per request; 4 MB by default, which a full batch needs. */
  readonly maxBodyBytes?: number | undefined;
  /** Bytes of a photo; 32 MB by default. */
  readonly maxFileBytes?: number | undefined;
  /** Stands right before the routes. */
  readonly intercept?: Intercept | undefined;
  /** Further commands, on the same ledger. */
  readonly commands?: readonly CommandRoute[] | undefined;
  /** Ends the process for the fault `crash_after`. */
  readonly crash?: (() => never) | undefined;
  /** For faults with `percent`: a number in [0, 1). */
  readonly random?: (() => number) | undefined;
  /** Errors that were answered with 500 or 503. */
  readonly report?: ((error: unknown) => void) | undefined;
}

export interface ReferenceServer {
  /** `http://127.0.0.1:1234`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly ledger: Ledger;
  /** Throws where `faults` is off. */
  readonly faults: FaultSwitches;
  /** What came in so far, oldest first; empty where `faults` is off. */
  requests(): readonly LoggedRequest[];
  /** Every effect and how often each key had one; empty where `faults` is off. */
  statistics(owner?: string): Promise<LedgerStatistics>;
  /** Breaks what is open and stops listening. */
  close(): Promise<void>;
}

/** Beside this file, or beside the bundle that it ended up in. */
const MIGRATIONS = new URL('./migrations/', import.meta.url);

export async function createReferenceServer(options: ReferenceServerOptions): Promise<ReferenceServer> {
  const { database, faults: testing = true, report = (error) => console.error(error) } = options;
  await migrate(database, MIGRATIONS);
  const closing = new AbortController();
  const ledger = createLedger({ database, retention: options.retention });
  const signIn = createSignIn(database, options.accounts ?? DEMO_ACCOUNTS);
  const { authenticate } = signIn;
  const log = createRequestLog(Date.now);
  const faults = createFaultSwitches({
    closing: closing.signal,
    random: options.random ?? Math.random,
    crash: options.crash,
  });

  const note = testing ? noteEffect : noteNothing;
  const commands = [
    ...workoutCommands(note),
    ...planCommands(note),
    ...photoCommands(note),
    ...(options.commands ?? []),
  ];
  const routes: Route[] = [
    ...commands.map((route) => toRoute(route, ledger, authenticate)),
    ...workoutReads(database, authenticate),
    ...planReads(database, authenticate),
    ...photoReads(database, authenticate),
    ...receiptRoutes(ledger, authenticate),
    ...signIn.routes,
    ...(testing ? testRoutes(database, faults, log) : []),
  ];
  const intercepts: Intercept[] = testing ? [log.intercept, faults.intercept] : [];
  if (options.intercept) intercepts.push(options.intercept);
  // A batch sends its commands through the same door, so that switches and log see them one by one.
  const exchange: Exchange = (request) => door(request);
  const door = intercepted(createRouter([...routes, batchRoute(exchange)], report), intercepts);

  const { staticDir = [], host = '127.0.0.1', contentSecurityPolicy = STRICT_POLICY } = options;
  const listener = await listen({
    exchange,
    fallback: createStaticFiles({
      directories: typeof staticDir === 'string' ? [staticDir] : staticDir,
      contentSecurityPolicy: contentSecurityPolicy === false ? undefined : contentSecurityPolicy,
    }),
    host,
    port: options.port ?? 0,
    maxBodyBytes: options.maxBodyBytes ?? 4 * 1024 * 1024,
    maxFileBytes: options.maxFileBytes ?? 32 * 1024 * 1024,
    report,
  });

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`,
    port: listener.port,
    ledger,
    get faults() {
      if (!testing) throw new Error('Fault switches are off');
      return faults;
    },
    requests: log.requests,
    statistics: (owner) => readStatistics(database, owner),
    close: async () => {
      closing.abort();
      await listener.close();
    },
  };
}
