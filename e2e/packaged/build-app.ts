/** The fresh app, built the ways that apps are: by Vite, by esbuild, and with a worker that nothing bundles. */
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { build as esbuild } from 'esbuild';
import { build as vite } from 'vite';

export interface BuiltApp {
  /** What a server has to serve. */
  readonly served: string;
  /** The page's address in it. */
  readonly address: string;
}

/** Page and worker from one build, so that they share chunks; the worker is a module. */
export async function buildWithVite(folder: string): Promise<BuiltApp> {
  const served = join(folder, 'dist-vite');
  await vite({
    root: folder,
    configFile: false,
    logLevel: 'warn',
    build: {
      outDir: served,
      target: 'es2022',
      rollupOptions: {
        input: { page: join(folder, 'index.html'), sw: join(folder, 'sw.ts') },
        output: { entryFileNames: ({ name }) => (name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js') },
      },
    },
  });
  return { served, address: '/?module' };
}

async function buildPage(folder: string, served: string): Promise<void> {
  await esbuild({
    absWorkingDir: folder,
    entryPoints: ['page.ts'],
    outdir: served,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    logLevel: 'warning',
  });
}

/** The page in chunks, the worker as one classic script. */
export async function buildWithEsbuild(folder: string): Promise<BuiltApp> {
  const served = join(folder, 'dist-esbuild');
  await buildPage(folder, served);
  await esbuild({
    absWorkingDir: folder,
    entryPoints: ['sw.ts'],
    outdir: served,
    bundle: true,
    format: 'iife',
    target: 'es2022',
    minify: true,
    logLevel: 'warning',
  });
  return { served, address: '/' };
}

/** A worker that is written by hand and fetches the package's classic script. */
export async function copyClassic(folder: string): Promise<BuiltApp> {
  const served = join(folder, 'dist-classic');
  await mkdir(served, { recursive: true });
  await buildPage(folder, served);
  await cp(join(folder, 'sw.classic.js'), join(served, 'sw.js'));
  await cp(
    join(folder, 'node_modules/holdfast/dist/sw/holdfast.classic.js'),
    join(served, 'holdfast.classic.js'),
  );
  return { served, address: '/' };
}
