/** The package as it is installed: fresh apps, their builds, and what a build takes of it. */
import { readdir, readFile } from 'node:fs/promises';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildWithEsbuild, buildWithVite, copyClassic } from './packaged/build-app.ts';
import { compileApp, type InstalledApp, installApp } from './packaged/install-app.ts';
import { pasteGuide } from './packaged/paste-guide.ts';
import { serveNotes } from './packaged/serve-notes.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';

describe('the package, installed in a fresh app', () => {
  let app: InstalledApp;
  let chromium: Chromium;

  beforeAll(async () => {
    [app, chromium] = await Promise.all([installApp(), launchChromium()]);
  });
  afterAll(async () => {
    await chromium.close();
    await app.remove();
  });

  it.each([
    { how: 'by Vite, with a worker that is a module', make: buildWithVite },
    { how: 'by esbuild, with a worker in one script', make: buildWithEsbuild },
    { how: 'with a hand-written worker over the classic script', make: copyClassic },
  ])('[W1] built $how, saves a change and sends it', async ({ make }) => {
    const built = await make(app.folder);
    const server = await serveNotes(built);
    try {
      const page = await chromium.openPage(`${server.origin}${built.address}`);
      await page.waitForFunction(() => document.querySelector('pre')?.textContent.split('\n').length === 3);
      const said = await page.$eval('pre', (facts) => facts.textContent);
      expect(said).toBe('queued by the worker\nuploaded: Saved.\n');
      expect(server.notes).toEqual([{ text: 'from an installed package' }]);
      await page.close();
    } finally {
      await server.stop();
    }
  });

  it('[W13] a worker that Vite built and the page did not call a module is refused with a hint', async () => {
    const server = await serveNotes(await buildWithVite(app.folder));
    try {
      const page = await chromium.browser.newPage();
      const said: string[] = [];
      page.on('pageerror', (error) => said.push(error instanceof Error ? error.message : String(error)));
      await page.goto(server.origin);
      await expect
        .poll(() => said)
        .toEqual([
          expect.stringMatching(
            // Its stack comes after it.
            /^NoHostError: No worker, and no fallback: TypeError: .* evaluation failed; a module\? registration: \{ type: 'module' \}\n/,
          ),
        ]);
      await page.close();
    } finally {
      await server.stop();
    }
  });

  it('[W1, W17] "getting started", pasted as it stands, brings its change to the small server, and lists it', async () => {
    const guide = await pasteGuide(app);
    try {
      const page = await chromium.browser.newPage();
      const said: string[] = [];
      page.on('console', (message) => said.push(message.text()));
      page.on('pageerror', (error) => said.push(String(error)));
      await page.goto(guide.url);
      await expect.poll(() => said, { timeout: 20_000 }).toContain('At the server, revision 1');
      await expect.poll(() => said).toContain('2026-11-30: 80 kg, saved');
      // In one request, where neither had left when the other came, or in two.
      await expect.poll(() => guide.workouts()).toMatchObject([{ date: '2026-11-30', weightKg: 80 }]);
      await page.close();
    } finally {
      await guide.stop();
    }
  });

  it.each(['Bundler', 'Node16'])(
    '[W17] compiles strictly, libraries included, with %s resolution',
    async (how) => {
      expect(await compileApp(app, how)).toBe('');
    },
  );

  it('[W17] a definition brings nothing of page or worker along, and an unused import nothing at all', async () => {
    const bundle = async (contents: string): Promise<{ size: number; sources: readonly string[] }> => {
      const { metafile, outputFiles } = await build({
        stdin: { contents, resolveDir: app.folder },
        absWorkingDir: app.folder,
        bundle: true,
        write: false,
        minify: true,
        format: 'esm',
        logLevel: 'silent',
        metafile: true,
      });
      const inputs = Object.values(metafile.outputs).flatMap(({ inputs: parts }) =>
        Object.entries(parts).filter(([, { bytesInOutput }]) => bytesInOutput > 0),
      );
      const files = inputs
        .map(([file]) => join(app.folder, file))
        .filter((file) => file.includes('holdfast/dist'));
      const maps = await Promise.all(files.map((file) => readMap(`${file}.map`)));
      const size = outputFiles.reduce((sum, { contents: code }) => sum + code.length, 0);
      return {
        size,
        sources: maps.flatMap(({ sources }) => sources.map((source) => source.replace(/^(\.\.\/)+/, ''))),
      };
    };
    const used = await bundle(
      "import { defineOutbox, record } from 'holdfast/shared'; console.log(defineOutbox({ a: record() }));",
    );
    expect(used.sources).toContain('shared/family.ts');
    expect(used.sources.filter((source) => !source.startsWith('shared/'))).toEqual([]);
    const unused = await bundle("import 'holdfast/shared'; import 'holdfast/client'; import 'holdfast/sw';");
    expect(unused).toEqual({ size: 0, sources: [] });
  });

  it.each([
    { file: 'client/index.js', text: 'No service workers here', source: 'client/connect-outbox.ts' },
    { file: 'sw/holdfast.classic.js', text: 'The command is too large', source: 'sw/host/worker-api.ts' },
  ])('[W1] a stack trace in $file leads to the source', async ({ file, text, source }) => {
    const code = await readFile(join(app.installed, 'dist', file), 'utf8');
    const before = code.slice(0, code.indexOf(text)).split('\n');
    const map = new SourceMap(await readMap(join(app.installed, 'dist', `${file}.map`)));
    const found = map.findEntry(before.length - 1, before.at(-1)?.length ?? 0);
    expect(found).toHaveProperty('originalSource', expect.stringMatching(new RegExp(`/${source}$`)));
  });

  it('[W1] every script has its map, with the sources in it, and no module of a worker loads another later', async () => {
    const dist = join(app.installed, 'dist');
    const names = await readdir(dist, { recursive: true });
    const scripts = names.filter((name) => name.endsWith('.js') && !name.startsWith('bin'));
    expect(scripts.length).toBeGreaterThan(5);
    for (const name of scripts) {
      const { sources, sourcesContent } = await readMap(join(dist, `${name}.map`));
      expect(sourcesContent, name).toHaveLength(sources.length);
    }
    const { metafile } = await build({
      entryPoints: [join(dist, 'sw/index.js')],
      absWorkingDir: app.folder,
      bundle: true,
      write: false,
      format: 'esm',
      metafile: true,
    });
    const kinds = Object.values(metafile.inputs).flatMap(({ imports }) => imports.map(({ kind }) => kind));
    expect(kinds.filter((kind) => kind === 'dynamic-import')).toEqual([]);
  });
});

async function readMap(file: string): Promise<SourceMapPayload> {
  return JSON.parse(await readFile(file, 'utf8')) as SourceMapPayload;
}
