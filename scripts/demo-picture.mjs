// Takes docs/demo.png: starts the demo on data of its own, logs as a person does, and photographs what waits.
// `node scripts/demo-picture.mjs [file.png] [width] [height] [light|dark]`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import puppeteer from 'puppeteer';

const root = fileURLToPath(new URL('..', import.meta.url));
const [file = join(root, 'docs/demo.png'), width = 1280, height = 950, scheme = 'light'] =
  process.argv.slice(2);

/** What the browser suites know of the demo. */
async function loadParts() {
  const outfile = join(root, '.tmp/demo-picture.mjs');
  const contents = `export * from './demo-page.ts'; export * from './find-browser.ts';`;
  await build({
    stdin: { contents, resolveDir: join(root, 'e2e/support'), loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  });
  return await import(pathToFileURL(outfile).href);
}

const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-picture-'));
const server = spawn(process.execPath, [join(root, 'scripts/start.mjs')], {
  env: { ...process.env, PORT: '0', DATA_DIR: dataDir, DATABASE_URL: '' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let browser;
try {
  const [line] = await once(createInterface(server.stdout), 'line');
  const [url] = /http:\S+/.exec(line);
  const { demoPage, findChromium } = await loadParts();
  browser = await puppeteer.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-gpu'],
  });
  const page = await browser.newPage();
  await page.setViewport({ width: Number(width), height: Number(height) });
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: scheme },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ]);
  await page.goto(url);
  const log = demoPage(page);
  await log.signIn('Ada');
  await log.planToday('Legs and press');
  await log.log({ exercise: 'Squat', weightKg: 100, sets: 5, reps: 5, note: 'Felt light' });
  await log.log({ exercise: 'Overhead press', weightKg: 42.5, sets: 3, reps: 8 });
  await log.whenHeadline('All saved');
  // The server refuses one; then the connection goes.
  await page.evaluate(async () => {
    const rules = [
      { fault: { type: 'status', status: 422, code: 'invalid' }, count: 1, match: { family: 'workout' } },
    ];
    const headers = { 'content-type': 'application/json' };
    await fetch('/api/_test/faults', { method: 'POST', headers, body: JSON.stringify({ rules }) });
  });
  await log.log({ exercise: 'Lunge', weightKg: 30, sets: 3, reps: 12 });
  await log.whenHeadline('1 needs you');
  await log.setOffline(true);
  await log.whenWorkout('Lunge');
  await log.edit('Squat', { weightKg: 105 });
  await log.log({ exercise: 'Deadlift', weightKg: 140, sets: 3, reps: 5 });
  // What was just announced goes by itself.
  await page.waitForFunction(() => document.querySelector('.toast') === null);
  await page.evaluate(() => {
    document.activeElement?.blur();
    window.scrollTo(0, 0);
  });
  await page.screenshot({ path: file });
} finally {
  await browser?.close();
  server.kill('SIGINT');
  await once(server, 'exit');
  await rm(dataDir, { recursive: true, force: true });
}
