// Looks at the built package the way an app does: packs it, installs nothing, and compiles a small consumer
// and the README's examples against its declarations under both module resolutions; then imports every entry that Node can import.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
mkdirSync(join(root, '.tmp'), { recursive: true });
const place = mkdtempSync(join(root, '.tmp/consumer-'));
const installed = join(place, 'node_modules/holdfast');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = Object.keys(manifest.exports).map((path) => path.slice(2));

/** What the README's examples take for granted. */
const SURROUNDINGS =
  'declare const user: { id: string }; declare function show(revision: number): void; export {};';

try {
  mkdirSync(installed, { recursive: true });
  cpSync(join(root, 'dist'), join(installed, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(installed, 'package.json'));
  for (const name of [...Object.keys(manifest.dependencies ?? {}), 'valibot']) {
    symlinkSync(join(root, 'node_modules', name), join(place, 'node_modules', name));
  }
  writeFileSync(join(place, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(place, 'app.ts'),
    entries
      .map(
        (entry, i) =>
          `import * as entry${i} from 'holdfast/${entry}';\nexport type E${i} = keyof typeof entry${i};`,
      )
      .join('\n'),
  );
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g)].map(([, name, code]) => ({
    name,
    code,
  }));
  if (examples.length === 0) throw new Error('The README has no examples');
  for (const { name, code } of examples) writeFileSync(join(place, name), `${code}\n${SURROUNDINGS}`);
  for (const [module, moduleResolution] of [
    ['ESNext', 'Bundler'],
    ['NodeNext', 'NodeNext'],
  ]) {
    const compilerOptions = {
      target: 'ES2022',
      module,
      moduleResolution,
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      types: [],
    };
    writeFileSync(
      join(place, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['app.ts', ...examples.map(({ name }) => name)] }),
    );
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', place], {
      stdio: 'inherit',
    });
  }
  for (const entry of entries) {
    const file = join(installed, manifest.exports[`./${entry}`].default);
    const names = Object.keys(await import(pathToFileURL(file).href));
    if (names.length === 0) throw new Error(`holdfast/${entry} exports nothing`);
    console.log(`ok   holdfast/${entry}: ${names.length} names`);
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
