// Writes docs/reference.md from the sources: every name of every entry, with its declaration and its docstring.
// `--check` only says whether it is up to date.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';
import { ENTRIES } from '../build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const OUT = join(root, 'docs/reference.md');

/** What an entry is for, in the order in which a newcomer meets them. */
const PURPOSES = {
  shared: 'The definition, imported by page and worker; and every error that a caller may catch.',
  client: 'What a page needs.',
  sw: 'What a worker needs.',
  reactions: 'What a page does about outcomes, and what it shows of what waits.',
  adopt: 'A queue of another library, moved in.',
  badge: 'The number that waits, on the app’s icon.',
  inspector: 'The element for people who want to see what waits, and why.',
  encryption: 'Payloads encrypted at rest.',
  postgrest: 'For servers that PostgREST speaks for.',
  testing: 'The engine over memory, for an app’s own tests.',
};

const modules = new Map();

/** A source file's text, its top statements, and its docstrings by where they end. */
function readModule(file) {
  const known = modules.get(file);
  if (known) return known;
  const text = readFileSync(join(root, file), 'utf8');
  const { program, comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const docs = comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'));
  const module = { file, text, body: program.body, docs };
  modules.set(file, module);
  return module;
}

/** The docstring that stands directly above `start`. */
function docAbove({ text, docs }, start) {
  const doc = docs.findLast(({ end }) => end <= start && text.slice(end, start).trim() === '');
  if (!doc) return '';
  return doc.value
    .slice(1)
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .replaceAll(/^@throws /gm, '\n**Throws** ')
    .trim();
}

const resolve = (file, source) => posix.normalize(posix.join(dirname(file), source));
const nameOf = (node) => node.name ?? node.value;

/** Every name that `file` exports, with the module and the statement that declare it. */
function exportsOf(file) {
  const module = readModule(file);
  const found = new Map();
  const add = (name, declared) => {
    if (declared && !found.has(name)) found.set(name, declared);
  };
  for (const node of module.body) {
    if (node.type === 'ExportAllDeclaration') {
      for (const [name, declared] of exportsOf(resolve(file, node.source.value))) add(name, declared);
    } else if (node.type === 'ExportNamedDeclaration' && node.source) {
      const there = exportsOf(resolve(file, node.source.value));
      for (const { local, exported } of node.specifiers) add(nameOf(exported), there.get(nameOf(local)));
    } else if (node.type === 'ExportNamedDeclaration' && node.declaration) {
      for (const name of declaredNames(node.declaration)) {
        add(name, { module, node, declaration: node.declaration, name });
      }
    } else if (node.type === 'ExportNamedDeclaration') {
      const imported = importsOf(module);
      for (const { local, exported } of node.specifiers) {
        const from = imported.get(nameOf(local));
        if (from) add(nameOf(exported), exportsOf(resolve(file, from.source)).get(from.name));
      }
    }
  }
  return found;
}

function importsOf({ body }) {
  const found = new Map();
  for (const node of body) {
    if (node.type !== 'ImportDeclaration' || !node.source.value.startsWith('.')) continue;
    for (const { local, imported } of node.specifiers) {
      if (imported) found.set(local.name, { source: node.source.value, name: nameOf(imported) });
    }
  }
  return found;
}

function declaredNames(declaration) {
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.map(({ id }) => id.name);
  return [declaration.id.name];
}

/** A parameter as its caller sees it: an object that is taken apart is its type. */
function parameter(text, node) {
  const [inner, isOptional] = node.type === 'AssignmentPattern' ? [node.left, true] : [node, node.optional];
  const { typeAnnotation: annotation } = inner;
  const type = annotation ? text.slice(annotation.start, annotation.end) : '';
  const name =
    inner.type === 'ObjectPattern'
      ? 'options'
      : inner.type === 'RestElement'
        ? `...${inner.argument.name}`
        : inner.name;
  return `${name}${isOptional ? '?' : ''}${type}`;
}

function functionText(text, { id, params, returnType, typeParameters, async: isAsync }) {
  const generics = typeParameters ? text.slice(typeParameters.start, typeParameters.end) : '';
  const answer = returnType ? text.slice(returnType.start, returnType.end) : '';
  const list = params.map((node) => parameter(text, node));
  const line = `function ${id.name}${generics}(${list.join(', ')})${answer};`;
  if (isAsync && !returnType) throw new Error(`${id.name} does not say what it answers`);
  return line.length <= 100 ? line : `function ${id.name}${generics}(\n  ${list.join(',\n  ')},\n)${answer};`;
}

function constantText(text, declaration) {
  const [{ id, init }] = declaration.declarations;
  const value = init ? text.slice(init.start, init.end) : '';
  const isShort = value.split('\n').length <= 30 && init?.type !== 'ArrowFunctionExpression';
  const type = id.typeAnnotation ? text.slice(id.typeAnnotation.start, id.typeAnnotation.end) : '';
  if (init?.type === 'ArrowFunctionExpression') {
    const answer = init.returnType ? text.slice(init.returnType.start, init.returnType.end) : '';
    const list = init.params.map((node) => parameter(text, node));
    return `const ${id.name}${type || `: (${list.join(', ')}) =>${answer.slice(1)}`};`;
  }
  return isShort ? `const ${id.name}${type} = ${value};` : `const ${id.name}${type};`;
}

function codeOf({ module: { text }, declaration }) {
  switch (declaration.type) {
    case 'FunctionDeclaration':
      return functionText(text, declaration);
    case 'VariableDeclaration':
      return constantText(text, declaration);
    default:
      return text.slice(declaration.start, declaration.end);
  }
}

const isError = ({ declaration }) =>
  declaration.type === 'ClassDeclaration' && /Error$/.test(declaration.id.name);

const CURES = {
  BadInputError: 'the call is wrong; correct it',
  RefusedError: 'what is stored forbids it; nothing changed',
  TryAgainError: 'nothing was stored; the same call may succeed later',
  HoldfastError: 'see there',
};

function errorRow({ module, node, declaration }) {
  const { text } = module;
  const code = /\bcode = '(\w+)'/.exec(text.slice(declaration.start, declaration.end))?.[1] ?? '';
  const doc = docAbove(module, node.start).replaceAll('\n', ' ').replaceAll('|', '\\|');
  const cure = CURES[declaration.superClass?.name] ?? '';
  return `| \`${declaration.id.name}\` | ${code ? `\`${code}\`` : ''} | ${doc} | ${code ? cure : ''} |`;
}

const RANK = {
  FunctionDeclaration: 0,
  ClassDeclaration: 1,
  VariableDeclaration: 2,
  TSInterfaceDeclaration: 3,
  TSTypeAliasDeclaration: 4,
};

function renderName([name, declared]) {
  const { module, node } = declared;
  const doc = docAbove(module, node.start);
  return [`### ${name}`, '', ...(doc ? [doc, ''] : []), '```ts', codeOf(declared), '```', ''].join('\n');
}

function renderEntry(entry, file) {
  const all = [...exportsOf(file)];
  const errors = all.filter(([, declared]) => isError(declared));
  const others = all
    .filter(([, declared]) => !isError(declared))
    .sort(
      ([one, a], [other, b]) =>
        RANK[a.declaration.type] - RANK[b.declaration.type] || one.localeCompare(other, 'en'),
    );
  const table =
    errors.length === 0
      ? []
      : [
          '### Errors',
          '',
          'Each crosses the line between worker and page as what it is: `instanceof` and `code` hold on both sides.',
          '',
          '| class | `code` | means | what helps |',
          '| --- | --- | --- | --- |',
          ...errors.map(([, declared]) => errorRow(declared)),
          '',
        ];
  return [`## holdfast/${entry}`, '', PURPOSES[entry] ?? '', '', ...others.map(renderName), ...table].join(
    '\n',
  );
}

/** The whole page, as it has to be in docs/reference.md. */
export function renderReference() {
  const order = Object.keys(PURPOSES);
  const entries = Object.entries(ENTRIES)
    .filter(([, file]) => existsSync(join(root, file)))
    .map(([place, file]) => ({ entry: dirname(place), file }))
    .sort((a, b) => order.indexOf(a.entry) - order.indexOf(b.entry));
  const text = [
    '# Reference',
    '',
    'Every name that an app can import, by entry, with its declaration and its docstring. Made from the sources by',
    '`npm run docs:api`; the guides are in [README.md](README.md).',
    '',
    ...entries.map(({ entry }) => `- [holdfast/${entry}](#holdfast${entry}): ${PURPOSES[entry] ?? ''}`),
    '',
    ...entries.map(({ entry, file }) => renderEntry(entry, file)),
  ]
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trimEnd()
    .concat('\n');
  // As every page here is formatted.
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
  const args = [biome, 'format', '--stdin-file-path=docs/reference.md'];
  return execFileSync(process.execPath, args, { cwd: root, input: text, encoding: 'utf8' });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = renderReference();
  if (!process.argv.includes('--check')) writeFileSync(OUT, text);
  else if (readFileSync(OUT, 'utf8') !== text)
    throw new Error('docs/reference.md is out of date: npm run docs:api');
}
