/** What a newcomer does with docs/getting-started.md: each block into its file, a build, and the small server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type PreviewServer, preview, build as vite } from 'vite';
import type { InstalledApp } from './install-app.ts';

export interface PastedGuide {
  /** Where the page is served. */
  readonly url: string;
  /** The workouts of the account that the guide's page signs in. */
  workouts(): Promise<readonly unknown[]>;
  stop(): Promise<void>;
}

/** The files that the packed guide names, by their place in the app. */
async function readBlocks({ installed }: InstalledApp): Promise<ReadonlyMap<string, string>> {
  const guide = await readFile(join(installed, 'docs/getting-started.md'), 'utf8');
  const blocks = [...guide.matchAll(/```(?:ts|js)\n\/\/ (\S+)\n([\s\S]*?)```/g)];
  return new Map(
    blocks.map(([, name = '', code = '']) => [name.endsWith('.ts') ? `src/${name}` : name, code]),
  );
}

export async function pasteGuide(app: InstalledApp): Promise<PastedGuide> {
  const root = join(app.folder, 'guide');
  const files = new Map(await readBlocks(app));
  files.set(
    'index.html',
    '<!doctype html><title>guide</title><script type="module" src="/src/main.ts"></script>',
  );
  for (const [name, code] of files) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), code);
  }
  await vite({ root, logLevel: 'warn' });
  const { server, api } = await startSmallServer(app);
  const site: PreviewServer = await preview({
    root,
    logLevel: 'warn',
    // The guide's proxy, to a port that is free here.
    preview: { port: 0, proxy: { '/api': api } },
  });
  const [url] = site.resolvedUrls?.local ?? [];
  if (url === undefined) throw new Error('The preview has no address');
  return {
    url,
    async workouts() {
      const response = await fetch(`${api}/api/workouts`, { headers: { cookie: 'account=ada' } });
      const { items } = (await response.json()) as { readonly items: readonly unknown[] };
      return items;
    },
    async stop() {
      server.kill();
      await site.close();
    },
  };
}

async function startSmallServer({
  installed,
}: InstalledApp): Promise<{ readonly server: ChildProcess; readonly api: string }> {
  const server = spawn(process.execPath, [join(installed, 'examples/small-server/server.mjs')], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { stdout } = server;
  if (!stdout) throw new Error('The small server has no output');
  const api = await new Promise<string>((resolve) => createInterface(stdout).once('line', resolve));
  return { server, api };
}
