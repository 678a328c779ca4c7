/** Who may import whom: the table of docs/architecture.md, held against the imports of every source file. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Source {
  readonly file: string;
  readonly text: string;
  /** Paths below the root, and names of packages. */
  readonly imports: readonly string[];
}

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g;

function readSources(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const file = posix.join(folder, name.replaceAll('\\', '/'));
      const text = readFileSync(join(ROOT, file), 'utf8');
      const imports = [...text.matchAll(IMPORT)].map(([, path = '']) =>
        path.startsWith('.') ? posix.normalize(posix.join(dirname(file), path)) : path,
      );
      return { file, text, imports };
    });
}

const sources = ['shared', 'sw', 'client'].flatMap(readSources);
const names = new Set(sources.map(({ file }) => file));

const covers = (pattern: string, file: string): boolean =>
  pattern.endsWith('/') ? file.startsWith(pattern) : file === pattern;

function readTable(): { readonly files: string; readonly allowed: readonly string[] }[] {
  const doc = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
  const [, section = ''] = doc.split('## Who may import whom');
  const spans = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  return (
    section
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => {
        const [, left = '', right = ''] = line.split('|');
        return { files: spans(left)[0] ?? '', allowed: spans(right) };
      }) ?? []
  );
}

describe('the direction of imports', () => {
  const table = readTable();

  it('is that of the table in docs/architecture.md', () => {
    const strays = sources.flatMap(({ file, imports }) => {
      const row = table
        .filter(({ files }) => covers(files, file))
        .sort((a, b) => b.files.length - a.files.length)[0];
      const inside = imports.filter((path) => names.has(path));
      return inside
        .filter((path) => !row?.allowed.some((pattern) => covers(pattern, path)))
        .map((path) => `${file} -> ${path}`);
    });
    expect(table.length).toBeGreaterThan(10);
    expect(strays).toEqual([]);
  });

  it('leads nowhere back to where it began', () => {
    const imports = new Map(sources.map((source) => [source.file, source.imports]));
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (path.includes(file) || done.has(file)) return;
      for (const next of imports.get(file) ?? []) if (names.has(next)) visit(next, [...path, file]);
      done.add(file);
    };
    for (const { file } of sources) visit(file, []);
    expect(imports.size).toBeGreaterThan(0);
    expect(cycles).toEqual([]);
  });

  it('keeps packages of Node out', () => {
    expect(sources.filter(({ imports }) => imports.some((path) => path.startsWith('node:')))).toEqual([]);
  });
});

describe('a decision', () => {
  const decisions = sources.filter(({ file }) => /\/(plan|check|classify|judge)(-[^/]+)?\.ts$/.test(file));

  it.each([
    { what: 'is not asynchronous', pattern: /\basync\b|\bawait\b|\bPromise</ },
    { what: 'asks no clock', pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\b|\bsetTimeout\b/ },
    { what: 'throws no dice', pattern: /\bMath\.random\b|\bcrypto\b/ },
    {
      what: 'touches no platform',
      pattern: /\bfetch\(|\bindexedDB\b|\blocalStorage\b|\bnavigator\b|\bself\./,
    },
  ])('$what', ({ pattern }) => {
    const code = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect(decisions.filter(({ text }) => pattern.test(code(text))).map(({ file }) => file)).toEqual([]);
  });
});
