// Looks at the built package the way an app does: packs it, lints the tarball (publint, attw), installs what is in it,
// compiles a small consumer and the docs' examples against its declarations under each module resolution, then
// imports every entry that Node can import. Needs no network.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
mkdirSync(join(root, '.tmp'), { recursive: true });
const place = mkdtempSync(join(root, '.tmp/consumer-'));
const installed = join(place, 'node_modules/holdfast');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = Object.keys(manifest.exports).map((path) => path.slice(2));

/** An entry is for one realm; whoever imports the worker's has no DOM, and the other way round. */
const PROJECTS = [
  { name: 'page', lib: ['ES2023', 'DOM', 'DOM.Iterable'], isIn: () => true },
  {
    name: 'worker',
    lib: ['ES2023', 'WebWorker'],
    isIn: (entry) => !['client', 'reactions', 'adopt', 'inspector', 'badge'].includes(entry),
  },
];
const RESOLUTIONS = [
  ['ESNext', 'Bundler'],
  ['Node16', 'Node16'],
  ['NodeNext', 'NodeNext'],
];

const run = (command, args, options) =>
  execFileSync(process.execPath, [join(root, 'node_modules', command), ...args], {
    cwd: root,
    stdio: 'inherit',
    ...options,
  });

/** A linter's report is only worth reading when it complains. */
function runQuietly(command, args) {
  try {
    run(command, args, { stdio: 'pipe' });
  } catch (error) {
    process.stderr.write(`${error.stdout ?? ''}${error.stderr ?? ''}`);
    throw new Error(`${args.join(' ')} failed`);
  }
}

function pack() {
  // The build is there; `prepack` would make it again.
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', place];
  return join(place, execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim());
}

/** `// name.ts` on an example's first line makes it a file; those of one page form one app. */
function writeExamples() {
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];
  return pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) => {
      const text = readFileSync(join(root, page), 'utf8');
      return [...text.matchAll(/```tsx?\n\/\/ (\S+\.tsx?)[^\n]*\n([\s\S]*?)```/g)].map(([, name, code]) => {
        const file = join('examples', page.replace(/\.md$/, ''), name);
        mkdirSync(dirname(join(place, file)), { recursive: true });
        // As a reader pastes it: nothing is declared that stands in no block of the page.
        writeFileSync(join(place, file), `${code}\nexport {};`);
        return file;
      });
    });
}

/** There is no site that a relative link could mean besides what was packed. */
function findDeadLinks() {
  const pages = readdirSync(installed, { recursive: true }).filter((name) => name.endsWith('.md'));
  return pages.flatMap((page) =>
    [
      ...readFileSync(join(installed, page), 'utf8')
        .replace(/^```.*?^```$|`[^`\n]*`/gms, '')
        .matchAll(/\]\((?![a-z]+:)([^)#\s]+)[^)\s]*\)/g),
    ]
      .map(([, link]) => join(dirname(page), link))
      .filter((path) => !existsSync(join(installed, path)))
      .map((path) => `${page} links to ${path}, which is not in the package`),
  );
}

function compile(name, lib, files) {
  for (const [module, moduleResolution] of RESOLUTIONS) {
    const compilerOptions = {
      target: 'ES2022',
      module,
      moduleResolution,
      jsx: 'react-jsx',
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
      lib,
      types: [],
    };
    const config = join(place, `tsconfig.${name}.json`);
    writeFileSync(config, JSON.stringify({ compilerOptions, files }));
    run('typescript/bin/tsc', ['-p', config]);
  }
  console.log(`ok   types: ${name}, ${files.length} files, ${RESOLUTIONS.map(([, how]) => how).join(', ')}`);
}

try {
  const tarball = pack();
  runQuietly('publint/src/cli.js', ['run', tarball, '--strict']);
  console.log('ok   publint');
  runQuietly('@arethetypeswrong/cli/dist/index.js', [
    tarball,
    ...['--profile', 'esm-only', '--no-definitely-typed', '--no-color', '--no-emoji'],
  ]);
  console.log('ok   are the types wrong');

  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  const dead = findDeadLinks();
  if (dead.length > 0) throw new Error(dead.join('\n'));
  console.log('ok   links of the pages');

  const peers = ['valibot', 'react', '@types/react', 'csstype', 'vue', '@vue'];
  mkdirSync(join(place, 'node_modules/@types'));
  for (const name of [...Object.keys(manifest.dependencies ?? {}), ...peers]) {
    symlinkSync(join(root, 'node_modules', name), join(place, 'node_modules', name));
  }
  writeFileSync(join(place, 'package.json'), '{"type":"module"}');
  for (const { name, lib, isIn } of PROJECTS) {
    const text = entries
      .filter(isIn)
      .map(
        (entry, i) =>
          `import * as entry${i} from 'holdfast/${entry}';\nexport type E${i} = keyof typeof entry${i};`,
      );
    writeFileSync(join(place, `${name}.ts`), text.join('\n'));
    compile(name, lib, [`${name}.ts`]);
  }
  const examples = writeExamples();
  if (examples.length === 0) throw new Error('The docs have no examples');
  compile('examples', PROJECTS[0].lib, examples);

  for (const entry of entries) {
    const file = join(installed, manifest.exports[`./${entry}`].default);
    const names = Object.keys(await import(pathToFileURL(file).href));
    if (names.length === 0) throw new Error(`holdfast/${entry} exports nothing`);
    console.log(`ok   holdfast/${entry}: ${names.length} names`);
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
