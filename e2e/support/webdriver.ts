/**
 * A small WebDriver client (W3C): one session, several windows. A session runs one command at a time in one window, so
 * commands take turns, and a function that takes its time is asked for its answer rather than waited for.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { EngineTab } from './engine.ts';

export interface WebDriverSession {
  readonly capabilities: Readonly<Record<string, unknown>>;
  openTab(url: string): Promise<EngineTab>;
  end(): Promise<void>;
}

const POLL_MS = 15;
/** A command that the driver has not answered by then says which it was: its own limits are half of this, in ms. */
const COMMAND_MS = 60_000;
/** And so does a function in a page: a test that waits in vain fails where it waits, in ms. */
const RUN_MS = 90_000;

type Answer =
  | { readonly type: 'pending' }
  | { readonly type: 'value'; readonly value?: unknown }
  | { readonly type: 'error'; readonly text: string };

/** Runs in the page: begins, and keeps the answer until it is asked for. No `eval`: the page's policy forbids it. */
const begin = (source: string): string => `
  const [id, args] = arguments;
  const runs = (globalThis.webdriverRuns ??= {});
  runs[id] = { type: 'pending' };
  const text = (error) => error instanceof Error ? error.name + ': ' + error.message : String(error);
  (async () => (${source})(...args))().then(
    (value) => { runs[id] = { type: 'value', value }; },
    (error) => { runs[id] = { type: 'error', text: text(error) }; },
  );`;

const ASK = `
  const [id] = arguments;
  const answer = globalThis.webdriverRuns?.[id] ?? { type: 'error', text: 'The page went away' };
  if (answer.type !== 'pending') delete globalThis.webdriverRuns?.[id];
  return JSON.stringify(answer);`;

/** Opens a session with a driver that listens on `port` of the loopback interface. */
export async function openWebDriver(
  port: number,
  capabilities: Readonly<Record<string, unknown>>,
): Promise<WebDriverSession> {
  const send = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      signal: AbortSignal.timeout(COMMAND_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new Error(`${method} ${path}: no answer`, { cause: error });
    });
    const { value } = (await response.json()) as { readonly value: unknown };
    if (response.ok) return value;
    const { error, message } = value as { readonly error?: string; readonly message?: string };
    throw new Error(`${method} ${path}: ${error}: ${message}`);
  };

  const opened = (await send('POST', '/session', { capabilities: { alwaysMatch: capabilities } })) as {
    readonly sessionId: string;
    readonly capabilities: Readonly<Record<string, unknown>>;
  };
  const session = `/session/${opened.sessionId}`;
  let turn: Promise<unknown> = Promise.resolve();
  let current: string | undefined;
  let runs = 0;

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  };
  const inWindow = <T>(handle: string, work: () => Promise<T>): Promise<T> =>
    inTurn(async () => {
      if (current !== handle) await send('POST', `${session}/window`, { handle });
      current = handle;
      return await work();
    });

  const tabOf = (handle: string): EngineTab => {
    const command = (path: string, body: unknown = {}) =>
      inWindow(handle, () => send('POST', session + path, body));
    const execute = (script: string, ...args: readonly unknown[]) =>
      command('/execute/sync', { script, args });
    return {
      async run<Args extends readonly unknown[], T>(
        work: (...args: Args) => T | Promise<T>,
        ...args: Args
      ): Promise<Awaited<T>> {
        runs += 1;
        const id = runs;
        const source = String(work);
        await execute(begin(source), id, args);
        for (const until = Date.now() + RUN_MS; Date.now() < until; ) {
          const answer = JSON.parse(String(await execute(ASK, id))) as Answer;
          if (answer.type === 'error') throw new Error(answer.text);
          // What the page answered is what the function's type says: the same function ran there.
          if (answer.type === 'value') return answer.value as Awaited<T>;
          await wait(POLL_MS);
        }
        throw new Error(`The page was not done with this in ${RUN_MS} ms: ${source} ${JSON.stringify(args)}`);
      },
      async goto(url) {
        await command('/url', { url });
      },
      async back() {
        await command('/back');
      },
      async show() {
        await command('/window/maximize');
      },
      async hide() {
        await command('/window/minimize');
      },
      close: () =>
        inWindow(handle, async () => {
          await send('DELETE', `${session}/window`);
          current = undefined;
        }),
    };
  };

  await send('POST', `${session}/timeouts`, { script: 30_000, pageLoad: 30_000 });
  // Windows, since only of those it is known which a person sees. The first stays: without one a browser would end.
  const [first] = (await send('GET', `${session}/window/handles`)) as readonly string[];
  return {
    capabilities: opened.capabilities,
    async openTab(url) {
      const handle = await inTurn(async () => {
        if (first !== undefined) await send('POST', `${session}/window`, { handle: first });
        current = first;
        const window = await send('POST', `${session}/window/new`, { type: 'window' });
        return (window as { readonly handle: string }).handle;
      });
      const tab = tabOf(handle);
      await tab.goto(url);
      return tab;
    },
    async end() {
      await inTurn(() => send('DELETE', session));
    },
  };
}
