// Builds the demo into a folder that any static server can serve: the page, the worker with its precache list, and
// what stands around them.
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { COMMON } from '../../build.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

/** As an app would write it; here the package is its own sources. */
const alias = {
  'holdfast/shared': join(root, 'shared/index.ts'),
  'holdfast/sw': join(root, 'sw/index.ts'),
  'holdfast/client': join(root, 'client/index.ts'),
  'holdfast/reactions': join(root, 'client/reactions.ts'),
  'holdfast/inspector': join(root, 'client/inspector/index.ts'),
  'holdfast/badge': join(root, 'client/app-badge.ts'),
  'holdfast/encryption': join(root, 'sw/encryption/index.ts'),
};

/** Files that are not part of the shell: the worker itself, and what only developers read. */
const NOT_SHELL = /^sw\.js$|\.map$/;

export async function buildDemo(outdir) {
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  await cp(join(here, 'public'), outdir, { recursive: true });
  await cp(join(here, 'index.html'), join(outdir, 'index.html'));
  const common = { ...COMMON, alias, minify: true, sourcemap: true };
  await build({
    ...common,
    entryPoints: { page: join(here, 'page/main.tsx'), styles: join(here, 'styles.css') },
    outdir,
    format: 'esm',
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // Asked for by path, so that the worker's precache list can name it.
    external: ['/icons/*'],
  });
  await build({
    ...common,
    entryPoints: [join(here, 'worker/sw.ts')],
    outfile: join(outdir, 'sw.js'),
    format: 'iife',
    define: { ...COMMON.define, SHELL_FILES: JSON.stringify(await listShell(outdir)) },
  });
}

async function listShell(outdir) {
  const names = await readdir(outdir, { recursive: true, withFileTypes: true });
  const files = names
    .filter((entry) => entry.isFile() && !NOT_SHELL.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return await Promise.all(
    files.map(async (file) => ({
      url: `/${file.slice(outdir.length).replaceAll('\\', '/').replace(/^\/+/, '')}`,
      revision: createHash('sha256')
        .update(await readFile(file))
        .digest('hex')
        .slice(0, 16),
    })),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outdir = process.argv[2] ?? join(root, '.tmp/demo/site');
  await buildDemo(outdir);
}
