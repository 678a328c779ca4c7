// Builds both examples into folders that any static server can serve.
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildClassic, buildModules, COMMON } from '../../build.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

/** As an app would write it; here the package is its own sources. */
const alias = {
  'holdfast/shared': join(root, 'shared/index.ts'),
  'holdfast/sw': join(root, 'sw/index.ts'),
  'holdfast/client': join(root, 'client/index.ts'),
};

/** What belongs to the worker and not to the shell it keeps, and what this page does not use of the package. */
const NOT_SHELL = /^(sw|app)\.js$|^workbox\/|^holdfast\/(?!client|shared|chunks)|\.map$/;

const WORKBOX = ['core', 'routing', 'strategies', 'precaching'];

export async function buildBundled(outdir, version) {
  await startAnew(outdir);
  await cp(join(here, 'bundled/index.html'), join(outdir, 'index.html'));
  const common = { ...COMMON, alias, minify: true, format: 'esm', outdir };
  await build({
    ...common,
    entryPoints: { page: join(here, 'bundled/page/page.ts') },
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
  });
  const define = { ...COMMON.define, SHELL_FILES: await listShell(outdir), VERSION: JSON.stringify(version) };
  await build({ ...common, entryPoints: { sw: join(here, 'bundled/worker/sw.ts') }, define });
}

/** Nothing is bundled here but the package itself: this is what an app without a bundler copies together. */
export async function buildClassicExample(outdir, version) {
  await startAnew(outdir);
  await cp(join(here, 'classic'), outdir, { recursive: true });
  await buildModules(join(outdir, 'holdfast'));
  await buildClassic(join(outdir, 'holdfast/sw/holdfast.classic.js'));
  for (const part of WORKBOX) {
    const name = `workbox-${part}.prod.js`;
    await cp(join(root, `node_modules/workbox-${part}/build`, name), join(outdir, 'workbox', name));
  }
  await writeFile(
    join(outdir, 'app.js'),
    `self.VERSION = ${JSON.stringify(version)};\nself.SHELL_FILES = ${await listShell(outdir)};\n`,
  );
}

async function startAnew(outdir) {
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
}

/** As JSON: every file of the shell with the hash of its content. */
async function listShell(outdir) {
  const names = await readdir(outdir, { recursive: true, withFileTypes: true });
  const files = names
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(outdir.length).replace(/^\/+/, ''))
    .filter((name) => !NOT_SHELL.test(name))
    .sort();
  const entries = files.map(async (name) => {
    const content = await readFile(join(outdir, name));
    return { url: `/${name}`, revision: createHash('sha256').update(content).digest('hex').slice(0, 16) };
  });
  return JSON.stringify(await Promise.all(entries));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outdir = join(root, '.tmp/precaching-worker');
  await buildBundled(join(outdir, 'bundled'), '1');
  await buildClassicExample(join(outdir, 'classic'), '1');
}
