/** The real demo on the real reference server, with data that survives a stop, as `npm start` keeps it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPglite } from '../../examples/server/database/pglite-database.ts';
import { createReferenceServer, type ReferenceServer } from '../../examples/server/reference-server.ts';
import { buildDemo } from '../../examples/workout-log/build.mjs';

export interface DemoServer {
  readonly url: string;
  /** Throws while stopped. */
  readonly server: ReferenceServer;
  /** Breaks every connection and lets go of the data. */
  stop(): Promise<void>;
  /** Starts again on the same port and data. */
  start(): Promise<void>;
  /** Stops for good and removes the data. */
  remove(): Promise<void>;
}

interface Running {
  readonly server: ReferenceServer;
  stop(): Promise<void>;
}

export async function serveDemo(): Promise<DemoServer> {
  const place = await mkdtemp(join(tmpdir(), 'holdfast-demo-'));
  const site = join(place, 'site');
  await buildDemo(site);

  async function run(port: number): Promise<Running> {
    const database = await openPglite({ dataDir: join(place, 'data') });
    const server = await createReferenceServer({ database, staticDir: site, port });
    return {
      server,
      async stop() {
        await server.close();
        await database.close();
      },
    };
  }

  let running: Running | undefined = await run(0);
  const { url, port } = running.server;
  const stop = async (): Promise<void> => {
    const current = running;
    running = undefined;
    await current?.stop();
  };

  return {
    url,
    get server() {
      if (running === undefined) throw new Error('The demo server is stopped');
      return running.server;
    },
    stop,
    async start() {
      running ??= await run(port);
    },
    async remove() {
      await stop();
      await rm(place, { recursive: true, force: true });
    },
  };
}
