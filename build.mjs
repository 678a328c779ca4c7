// Builds dist/: ES modules with shared chunks for bundlers and pages, one classic script for importScripts,
// declarations by tsc. `--watch` is not here: the sources run as they are under Vitest and the e2e fixtures.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(fileURLToPath(import.meta.url));

/** Entry points by their place in dist/. The page host and the encryption arrive as chunks on demand. */
export const ENTRIES = {
  'sw/index': 'sw/index.ts',
  'postgrest/index': 'sw/postgrest.ts',
  'client/index': 'client/index.ts',
  'reactions/index': 'client/reactions.ts',
  'adopt/index': 'client/adopt.ts',
  'shared/index': 'shared/index.ts',
  'testing/index': 'sw/testing/index.ts',
  'encryption/index': 'sw/encryption/index.ts',
  'inspector/index': 'client/inspector/index.ts',
  'badge/index': 'client/app-badge.ts',
};

/**
 * Workbox's queue is a doorbell here and never holds a request (W21), so what it would keep them with, an IndexedDB
 * library included, stays out: 2.4 KB of every worker. docs/decisions/0010-worker-size.md.
 */
const DOORBELL_WITHOUT_STORE = {
  name: 'doorbell-without-store',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/lib\/QueueStore\.js$/ }, ({ path, importer }) =>
      isQueue(importer) ? { path, namespace: 'doorbell-without-store' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'doorbell-without-store' }, () => ({
      contents: 'export class QueueStore {}',
    }));
    onLoad({ filter: /[\\/]Queue\.js$/ }, async ({ path }) => {
      if (!isQueue(path)) return undefined;
      const source = await readFile(path, 'utf8');
      // Everything between is about the requests in it.
      const from = source.indexOf('    async pushRequest(');
      const to = source.indexOf('    async registerSync(');
      if (from < 0 || to < from) throw new Error(`${path} is not the queue that this build knows`);
      return { contents: source.slice(0, from) + source.slice(to) };
    });
  },
};

const isQueue = (path) => /workbox-background-sync[\\/]Queue\.js$/.test(path);

/** What every bundle of Holdfast has in common, this build's and that of the demo and the sizes. */
export const COMMON = {
  absWorkingDir: root,
  bundle: true,
  target: 'es2022',
  platform: 'browser',
  // Workbox logs unless this is production.
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'warning',
  legalComments: 'none',
  plugins: [DOORBELL_WITHOUT_STORE],
};

/** A classic worker cannot import the definition's helpers, so its script carries them too. */
export const CLASSIC_SOURCE = `export * from './sw/index.ts';\nexport * from './sw/postgrest.ts';\nexport * from './shared/index.ts';\n`;

const present = (entries) =>
  Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(join(root, file))));

/** The package's modules and their chunks, below `outdir`. */
export async function buildModules(outdir = 'dist') {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: present(ENTRIES),
    outdir,
    format: 'esm',
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    sourcemap: true,
    metafile: true,
  });
  return metafile;
}

/** One script that brings all of it along. */
export async function buildClassic(
  outfile = 'dist/sw/holdfast.classic.js',
  globalName = 'holdfast',
  contents = CLASSIC_SOURCE,
) {
  const { metafile } = await build({
    ...COMMON,
    stdin: { contents, resolveDir: root, sourcefile: `${globalName}.classic.ts`, loader: 'ts' },
    outfile,
    format: 'iife',
    globalName,
    minify: true,
    sourcemap: true,
    metafile: true,
  });
  return metafile;
}

/** `npx holdfast …`: runs in Node and brings nothing along. */
export async function buildCommand(outfile) {
  await build({
    absWorkingDir: root,
    entryPoints: ['bin/holdfast.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'warning',
  });
  await chmod(resolve(root, outfile), 0o755);
}

/** A worker evaluates once, without waiting: no imports left in the classic script, nothing of Node anywhere. */
function checkMetafile(metafile, { selfContained }) {
  for (const [file, output] of Object.entries(metafile.outputs)) {
    for (const imported of output.imports) {
      if (imported.external) throw new Error(`${file} imports ${imported.path}, which is not in the bundle`);
      if (selfContained) throw new Error(`${file} must be self-contained but imports ${imported.path}`);
    }
    for (const input of Object.keys(output.inputs)) {
      if (/^(tests|e2e|examples|bench)\//.test(input)) throw new Error(`${file} contains ${input}`);
    }
  }
}

/** The page must not carry the engine: it comes as a chunk, only where there is no worker (W40). */
function checkPage(metafile) {
  const entry = Object.entries(metafile.outputs).find(
    ([, output]) => output.entryPoint === 'client/index.ts',
  );
  const seen = new Set();
  const visit = (file) => {
    if (seen.has(file)) return;
    seen.add(file);
    const output = metafile.outputs[file];
    for (const input of Object.keys(output.inputs)) {
      if (/^sw\/(storage|dispatch|outbox|host|mirror)\//.test(input)) {
        throw new Error(`The page's part statically contains ${input} (through ${file})`);
      }
    }
    for (const { path, kind } of output.imports) if (kind === 'import-statement') visit(path);
  };
  if (entry) visit(entry[0]);
}

/** Declarations name their neighbours with `.js`, so that every module resolution of a consumer finds them. */
async function writeDeclarations() {
  execFileSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-b', 'shared', 'sw', 'client'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  for (const folder of ['shared', 'sw', 'client']) {
    const from = join(root, '.tmp/types', folder);
    for (const name of await readdir(from, { recursive: true })) {
      if (!name.endsWith('.d.ts')) continue;
      const text = await readFile(join(from, name), 'utf8');
      const to = join(root, 'dist/types', folder, name);
      await mkdir(dirname(to), { recursive: true });
      const rewritten = text
        .replaceAll(/((?:from|import)\s*\(?\s*['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2')
        .replaceAll(/\n?\/\/# sourceMappingURL=.*$/gm, '');
      await writeFile(to, rewritten);
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await rm(join(root, 'dist'), { recursive: true, force: true });
  const modules = await buildModules();
  const classic = await buildClassic();
  const encryption = await buildClassic(
    'dist/encryption/holdfast-encryption.classic.js',
    'holdfastEncryption',
    `export * from './sw/encryption/index.ts';\n`,
  );
  checkMetafile(modules, { selfContained: false });
  checkMetafile(classic, { selfContained: true });
  checkMetafile(encryption, { selfContained: true });
  checkPage(modules);
  await buildCommand('dist/bin/holdfast.js');
  await writeDeclarations();
}
