#!/usr/bin/env node
/** `npx holdfast check-server <url>`: says whether a server keeps what the engine relies on. */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type CheckConfig, ConfigError, DEFAULT_CONFIG, readConfig } from './check-server/config.ts';
import { UnreachableError } from './check-server/probe.ts';
import { describeResults } from './check-server/report.ts';
import { isPassed, runChecks } from './check-server/run-checks.ts';

const USAGE = `Usage: holdfast check-server <url> [--config file.json] [--json]

Checks a server against the contract of docs/server.md: once per key, revisions, receipts, owners, errors.
It creates and deletes resources with the two accounts of the configuration, so use a server for testing.

  --config  routes and accounts of your server; without it, those of the reference server
  --print-config  writes the default configuration, to start from
  --json    the results as JSON

Exit code: 0 where everything that must hold does, 1 where not, 2 where nothing could be checked.
`;

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      config: { type: 'string' },
      json: { type: 'boolean' },
      'print-config': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const [verb, url] = positionals;
  if (values.help) return print(USAGE, 0);
  if (values['print-config']) return print(`${JSON.stringify(DEFAULT_CONFIG, undefined, 2)}\n`, 0);
  if (verb !== 'check-server' || url === undefined || !URL.canParse(url)) return complain(USAGE);
  const results = await runChecks(url, await configFrom(values.config));
  const text = values.json
    ? `${JSON.stringify({ url, passed: isPassed(results), results }, undefined, 2)}\n`
    : describeResults(url, results);
  return print(text, isPassed(results) ? 0 : 1);
}

async function configFrom(file: string | undefined): Promise<CheckConfig> {
  if (file === undefined) return DEFAULT_CONFIG;
  const text = await readFile(file, 'utf8');
  try {
    return readConfig(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ConfigError(`${file} is not JSON: ${error.message}`);
    throw error;
  }
}

function print(text: string, code: number): number {
  process.stdout.write(text);
  return code;
}

function complain(text: string): number {
  process.stderr.write(text);
  return 2;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    const isExpected = error instanceof UnreachableError || error instanceof ConfigError;
    const message = error instanceof Error && (isExpected || 'code' in error) ? error.message : String(error);
    process.exitCode = complain(`${message}\n`);
  },
);
