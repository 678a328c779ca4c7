/** What `npm start` says where it cannot listen: one line, and what to do. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleServer, type ServerBundle } from '../../support/server-process.ts';

describe('the reference server', { timeout: 60_000 }, () => {
  let bundle: ServerBundle;
  let other: Server;
  let taken: number;

  beforeAll(async () => {
    bundle = await bundleServer();
    other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    taken = (other.address() as AddressInfo).port;
  }, 60_000);
  afterAll(() => {
    other?.close();
    bundle?.remove();
  });

  it('[V8] on a busy port names it and a free one, and ends with 1', async () => {
    const { code, said } = await bundle.fail({ PORT: String(taken) });
    expect(said).toMatch(/^Port \d+ is taken. Stop what uses it, or take another: PORT=\d+ npm start\n$/);
    expect(said).toContain(`Port ${taken} `);
    expect(said).not.toContain(`PORT=${taken}`);
    expect(code).toBe(1);
  });

  it.each([
    {
      env: { PORT: 'http', HOST: '127.0.0.1' },
      line: 'PORT is a number from 0, which takes any free one, to 65535.',
    },
    { env: { PORT: '8080', HOST: '192.0.2.1' }, line: 'Port 8080 of 192.0.2.1 cannot be used: ' },
  ])('[V8] with $env says in a line what is wrong', async ({ env, line }) => {
    const { code, said } = await bundle.fail(env);
    expect(said).toContain(line);
    expect(said.trimEnd().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  });
});
