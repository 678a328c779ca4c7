// `npm start`: builds the demo, starts the reference server on an embedded PostgreSQL that keeps its data between
// starts, and prints the address. PORT, DATA_DIR, DATABASE_URL and the rest are those of examples/server/main.ts.
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { buildDemo } from '../examples/workout-log/build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const place = join(root, '.tmp/demo');

await mkdir(place, { recursive: true });
await buildDemo(join(place, 'site'));
await build({
  entryPoints: [join(root, 'examples/server/main.ts')],
  outfile: join(place, 'server/main.js'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
});
await cp(join(root, 'examples/server/migrations'), join(place, 'server/migrations'), { recursive: true });

process.env['STATIC_DIR'] ??= join(place, 'site');
process.env['DATA_DIR'] ??= join(place, 'data');
await import(pathToFileURL(join(place, 'server/main.js')).href);
