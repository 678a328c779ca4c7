// Keeps the claims app as it is now, minified, as a release that later ones must get on with (e2e/fixtures/README.md).
//   node scripts/freeze-release.mjs 0.1.0-alpha
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { COMMON } from '../build.mjs';

const [release] = process.argv.slice(2);
if (!/^[\w.-]+$/.test(release ?? ''))
  throw new Error('Say which release: node scripts/freeze-release.mjs 0.1.0');

/** A kept bundle says who it is, whatever this one is called. */
const named = {
  name: 'named',
  setup({ onLoad }) {
    onLoad({ filter: /shared\/protocol\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace(/RELEASE = '[^']*'/, `RELEASE = '${release}'`);
      if (contents === text) throw new Error('shared/protocol.ts names no RELEASE that could be replaced');
      return { contents, loader: 'ts' };
    });
  },
};

const { outputFiles } = await build({
  ...COMMON,
  entryPoints: ['e2e/claims/bundle.ts'],
  format: 'iife',
  minify: true,
  legalComments: 'eof',
  write: false,
  plugins: [named],
});
const name = `e2e/fixtures/release-${release}.js`;
await writeFile(fileURLToPath(new URL(`../${name}`, import.meta.url)), outputFiles[0].text);
console.log(`${name}: ${outputFiles[0].text.length} characters`);
