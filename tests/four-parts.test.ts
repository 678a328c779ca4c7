/**
 * Four responsibilities, each ignorant of its neighbours' business (docs/architecture.md), proven from the imports:
 * not only what a file names, but everything that comes along with it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Code without comments and strings, for what a file does; `imports` come from the text. */
interface Source {
  readonly file: string;
  readonly code: string;
  readonly imports: readonly { readonly path: string; readonly isType: boolean }[];
}

const IMPORT = /\b(import|export)\s+(type\s)?([^'";]*?)\bfrom\s+'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'\s*\)/g;

function readSource(file: string): Source {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const imports = [...text.matchAll(IMPORT)].map(([, , type, names = '', from, dynamic]) => {
    const path = posix.normalize(posix.join(posix.dirname(file), from ?? dynamic ?? ''));
    const named = /\{([^}]*)\}/.exec(names)?.[1];
    const areTypes =
      named?.split(',').every((name) => /^\s*(type\s.*)?$/s.test(name)) === true && !/^\s*\w/.test(names);
    return { path, isType: type !== undefined || areTypes };
  });
  const code = text
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    .replaceAll(/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, "''");
  return { file, code, imports };
}

const sources = new Map(
  ['shared', 'sw', 'client']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => posix.join(folder, name.replaceAll('\\', '/'))),
    )
    .map((file) => [file, readSource(file)]),
);

/** Everything that comes along with these files, themselves included. */
function reachable(from: readonly string[], how: 'all' | 'values'): readonly string[] {
  const found = new Set<string>();
  const open = [...from];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const { path, isType } of sources.get(file)?.imports ?? [])
      if (how === 'all' || !isType) open.push(path);
  }
  return [...found];
}

const below = (folder: string) => [...sources.keys()].filter((file) => file.startsWith(folder));
const strays = (found: readonly string[], allowed: readonly string[]) =>
  found.filter((file) => !allowed.some((prefix) => file.startsWith(prefix)));

const PAGE_BINDING = ['client/page-reactions.ts', 'client/query-cache.ts', 'client/sentences.ts'];

describe('what comes along with', () => {
  it.each([
    {
      part: 'the outbox, which knows no server, no receipt rule, no page',
      files: below('sw/outbox/'),
      allowed: ['shared/', 'sw/outbox/', 'sw/environment.ts'],
    },
    {
      part: 'the receipt reconciler, which knows no server API, no page',
      files: below('sw/receipts/'),
      allowed: ['shared/', 'sw/receipts/', 'sw/outbox/', 'sw/environment.ts'],
    },
    {
      part: 'the dispatcher, which knows no page and no database',
      files: below('sw/dispatch/'),
      allowed: ['shared/', 'sw/dispatch/', 'sw/outbox/', 'sw/receipts/', 'sw/engine.ts', 'sw/environment.ts'],
    },
    {
      part: 'the page binding, which knows no store and no sending',
      files: PAGE_BINDING,
      allowed: ['shared/', ...PAGE_BINDING],
    },
  ])('$part', ({ files, allowed }) => {
    expect(files.length).toBeGreaterThan(2);
    expect(strays(reachable(files, 'all'), allowed)).toEqual([]);
  });

  it('shared words is nothing but shared words', () => {
    expect(strays(reachable(below('shared/'), 'all'), ['shared/'])).toEqual([]);
  });
});

const IS_DECISION = /\/(?:plan|check|classify|judge)-[^/]+$/;
/** Not `async`, no promises, no time, no dice, no realm. */
const IMPURE =
  /\basync\b|\bawait\b|\bPromise\b|\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bfetch\(|\bsetTimeout\b|\bindexedDB\b|\bnavigator\b|\blocalStorage\b/;

describe('a decision', () => {
  it('runs on other pure files only', () => {
    const decisions = [...sources.keys()].filter((file) => IS_DECISION.test(file));
    const used = reachable(decisions, 'values');
    expect(decisions.length).toBeGreaterThan(8);
    expect(used.filter((file) => IMPURE.test(sources.get(file)?.code ?? ''))).toEqual([]);
  });
});

/** What a realm gives is named in these files alone; everybody else is handed it, so that a test can replace it. */
const REALM: Readonly<Record<string, readonly string[]>> = {
  'Date.now': ['sw/browser-environment.ts'],
  'Math.random': ['sw/browser-environment.ts'],
  crypto: ['sw/browser-environment.ts'],
  setTimeout: ['sw/browser-environment.ts', 'client/'],
  setInterval: ['client/'],
  fetch: ['sw/dispatch/http-answer.ts', 'sw/dispatch/http-sender.ts'],
  indexedDB: [
    'sw/browser-environment.ts',
    'sw/storage/',
    'sw/mirror/',
    'sw/open-engine.ts',
    'sw/encryption/',
  ],
  localStorage: ['client/'],
  sessionStorage: ['client/'],
  navigator: ['sw/browser-environment.ts', 'sw/open-engine.ts', 'sw/host/', 'client/'],
  window: ['client/'],
  document: ['client/'],
  console: [],
};

describe('a name of the realm', () => {
  it.each(Object.entries(REALM))('%s is used where it may be', (name, allowed) => {
    const used = new RegExp(`(?:^|[^.\\w#])${name.replace('.', '\\.')}\\s*[.(?[]`, 'm');
    const users = [...sources.values()].filter(({ code }) => used.test(code)).map(({ file }) => file);
    // A file that declares or is handed a thing of that name means its own.
    const plain = name.replace('.', '\\.');
    const declared = new RegExp(
      `\\b(?:function|readonly|const)\\s+${plain}\\b|[{,]\\s*${plain}\\s*[,:}]`,
      'm',
    );
    const found = users.filter((file) => !declared.test(sources.get(file)?.code ?? ''));
    expect(strays(found, allowed)).toEqual([]);
  });
});
