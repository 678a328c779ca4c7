/**
 * The part of Vitest's interface that the shared suites use, for a bundle that runs inside a browser: bundles
 * replace `vitest` by this module, and run-suite-in-browser.ts drives it through `globalThis.holdfastSuite`.
 */
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  customMatchers,
  type ExpectStatic,
  GLOBAL_EXPECT,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from '@vitest/expect';

type Body = () => unknown;
type Hook = Body;

interface Suite {
  readonly name: string;
  readonly parent: Suite | undefined;
  readonly hooks: Record<'beforeAll' | 'afterAll' | 'beforeEach' | 'afterEach', Hook[]>;
  hasBegun: boolean;
}

interface Case {
  readonly title: string;
  readonly suite: Suite;
  readonly body: Body;
}

const createSuite = (name: string, parent: Suite | undefined): Suite => ({
  name,
  parent,
  hooks: { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] },
  hasBegun: false,
});

const root = createSuite('', undefined);
let current = root;
const cases: Case[] = [];
let finishers: Hook[] = [];

function lineage(suite: Suite): Suite[] {
  return suite.parent === undefined ? [suite] : [...lineage(suite.parent), suite];
}

function formatTitle(title: string, row: unknown, index: number): string {
  const values = Array.isArray(row) ? [...row] : [row];
  const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  return title
    .replaceAll(/%[sdifjo]/g, () => shown(values.shift()))
    .replaceAll('%#', String(index))
    .replaceAll(/\$([\w.]+)/g, (whole, path: string) => {
      const value = path
        .split('.')
        .reduce<unknown>((from, key) => (from as Record<string, unknown> | undefined)?.[key], row);
      return value === undefined ? whole : shown(value);
    });
}

type EachBody = (...row: never[]) => unknown;
type Declare = (title: string, body: Body) => void;

function withEach<D extends Declare>(declare: D) {
  return Object.assign(declare, {
    each:
      (rows: readonly unknown[]) =>
      (title: string, body: EachBody): void => {
        rows.forEach((row, index) => {
          const values = (Array.isArray(row) ? row : [row]) as never[];
          declare(formatTitle(title, row, index), () => body(...values));
        });
      },
  });
}

export const describe = withEach((name: string, body: Body): void => {
  const outer = current;
  current = createSuite(name, outer);
  body();
  current = outer;
});

// Vitest also takes options between title and body, and a limit after it; limits are the driver's business here.
export const it = withEach((title: string, ...rest: unknown[]): void => {
  const body = rest.find((one): one is Body => typeof one === 'function');
  if (body === undefined) throw new Error(`Test without a body: ${title}`);
  const names = lineage(current)
    .map((suite) => suite.name)
    .filter((name) => name !== '');
  cases.push({ title: [...names, title].join(' > '), suite: current, body });
});
export const test = it;

export const beforeAll = (hook: Hook): void => void current.hooks.beforeAll.push(hook);
export const afterAll = (hook: Hook): void => void current.hooks.afterAll.push(hook);
export const beforeEach = (hook: Hook): void => void current.hooks.beforeEach.push(hook);
export const afterEach = (hook: Hook): void => void current.hooks.afterEach.push(hook);
export const onTestFinished = (hook: Hook): void => void finishers.push(hook);

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

let assertionCount = 0;
export const expect = ((value: unknown, message?: string) => {
  assertionCount += 1;
  return chai.expect(value, message);
}) as unknown as ExpectStatic;
Object.assign(expect, chai.expect);
Object.defineProperty(globalThis, GLOBAL_EXPECT, { value: expect, configurable: true });
Object.assign(expect, (globalThis as Record<PropertyKey, unknown>)[ASYMMETRIC_MATCHERS_OBJECT]);
expect.getState = () => getState(expect);
expect.setState = (state) => setState(state, expect);
// chai's own `extend` takes the `expect` to extend first; its type does not say so.
const extend = chai.expect as unknown as { extend(on: ExpectStatic, matchers: object): void };
expect.extend = (matchers) => extend.extend(expect, matchers);
expect.extend(customMatchers);

async function runHooks(hooks: readonly Hook[]): Promise<void> {
  for (const hook of hooks) await hook();
}

export interface BrowserSuite {
  titles(): readonly string[];
  /** Runs one test with its hooks; answers the error's text, or `undefined` where it passed. */
  run(index: number): Promise<string | undefined>;
  /** Runs the `afterAll` hooks of every suite that began. */
  end(): Promise<void>;
}

const suite: BrowserSuite = {
  titles: () => cases.map((one) => one.title),
  async run(index) {
    const one = cases[index];
    if (one === undefined) return `No test ${index}`;
    const suites = lineage(one.suite);
    finishers = [];
    assertionCount = 0;
    try {
      for (const each of suites) {
        if (!each.hasBegun) await runHooks(each.hooks.beforeAll);
        each.hasBegun = true;
      }
      try {
        for (const each of suites) await runHooks(each.hooks.beforeEach);
        await one.body();
        return assertionCount === 0 ? 'The test asserted nothing' : undefined;
      } finally {
        for (const each of suites.toReversed()) await runHooks(each.hooks.afterEach);
        await runHooks(finishers.toReversed());
      }
    } catch (error) {
      return error instanceof Error ? (error.stack ?? error.message) : String(error);
    }
  },
  async end() {
    const begun = new Set(cases.flatMap((one) => lineage(one.suite)).filter((one) => one.hasBegun));
    for (const each of [...begun].toReversed()) await runHooks(each.hooks.afterAll);
  },
};
Object.assign(globalThis, { holdfastSuite: suite });
