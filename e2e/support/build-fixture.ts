/** Bundles a page or worker entry on the fly, from sources, the way an app's own bundler would. */
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface FixtureOptions {
  /** Path below the repository's root, or source text with paths relative to the root. */
  readonly entry: { readonly file: string } | { readonly source: string };
  /** `iife` runs as a classic worker, as a module worker and in a page alike. */
  readonly format?: 'iife' | 'esm' | undefined;
  readonly define?: Readonly<Record<string, string>> | undefined;
  readonly plugins?: readonly Plugin[] | undefined;
  readonly minify?: boolean | undefined;
}

/** Answers the bundle as text, self-contained, with an inline source map. */
export async function buildFixture(options: FixtureOptions): Promise<string> {
  const { entry } = options;
  const result = await build({
    ...('file' in entry
      ? { entryPoints: [entry.file] }
      : { stdin: { contents: entry.source, resolveDir: ROOT, loader: 'ts' as const } }),
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    format: options.format ?? 'iife',
    target: 'es2022',
    platform: 'browser',
    sourcemap: options.minify ? false : 'inline',
    minify: options.minify ?? false,
    define: { 'process.env.NODE_ENV': '"production"', ...options.define },
    plugins: [...(options.plugins ?? [])],
    logLevel: 'silent',
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error('esbuild wrote nothing');
  return output.text;
}
