/** A fresh app outside the repository, with the packed package installed in it by npm, without a network. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/build-fixture.ts';

const run = promisify(execFile);

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface InstalledApp {
  readonly folder: string;
  /** Where the package lies in it. */
  readonly installed: string;
  remove(): Promise<void>;
}

/** `prepack` builds it, so that what is installed is what these sources make. */
async function pack(into: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', into], {
    cwd: ROOT,
    maxBuffer: 1 << 26,
  });
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as readonly { readonly filename: string }[];
  if (packed === undefined) throw new Error('npm packed nothing');
  return join(into, packed.filename);
}

/** A package's dependencies and theirs, taken from those that this repository has installed. */
async function closureOf(names: readonly string[], found = new Map<string, string>()): Promise<typeof found> {
  for (const name of names) {
    if (found.has(name)) continue;
    const folder = join(ROOT, 'node_modules', name);
    found.set(name, `file:${folder}`);
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
    await closureOf(Object.keys(manifest.dependencies ?? {}), found);
  }
  return found;
}

/** Copies `e2e/packaged/app` into a fresh folder and installs what it imports there. */
export async function installApp(): Promise<InstalledApp> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-packaged-'));
  await cp(join(ROOT, 'e2e/packaged/app'), folder, { recursive: true });
  const tarball = await pack(folder);
  const own = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const others = await closureOf([...Object.keys(own.dependencies ?? {}), 'valibot']);
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({
      type: 'module',
      private: true,
      dependencies: { holdfast: `file:${tarball}`, ...Object.fromEntries(others) },
    }),
  );
  // With `--install-links` they are copied as if they came from the registry, and nothing of this repository is touched.
  await run(
    'npm',
    ['install', '--offline', '--install-links', '--ignore-scripts', '--no-audit', '--no-fund'],
    { cwd: folder },
  );
  return {
    folder,
    installed: join(folder, 'node_modules/holdfast'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Compiles the app as its own checkout would, and answers what the compiler said. */
export async function compileApp(app: InstalledApp, moduleResolution: string): Promise<string> {
  const module = moduleResolution === 'Bundler' ? 'ESNext' : moduleResolution;
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [compiler, '-p', app.folder, '--module', module, '--moduleResolution', moduleResolution];
  const { stdout } = await run(process.execPath, args).catch((error: { readonly stdout: string }) => error);
  return stdout;
}
