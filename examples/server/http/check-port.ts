/** Whether a port can be listened on, asked before anything else is opened that a second server would share. */
import { createServer } from 'node:net';

export class PortError extends Error {
  override readonly name = 'PortError';
}

/**
 * Resolves where `port` is free, or 0, which stands for any free one.
 * @throws PortError that says what to do
 */
export async function checkPort(port: number, host: string): Promise<void> {
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new PortError('PORT is a number from 0, which takes any free one, to 65535.');
  if (port === 0 || (await isFree(port, host))) return;
  const next = (await nextFree(port, host)) ?? 0;
  throw new PortError(`Port ${port} is taken. Stop what uses it, or take another: PORT=${next} npm start`);
}

async function nextFree(port: number, host: string): Promise<number | undefined> {
  for (let next = port + 1; next <= Math.min(port + 20, 65_535); next++)
    if (await isFree(next, host)) return next;
  return undefined;
}

/** @throws PortError where listening fails for another reason: no such address, no right to it */
function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EADDRINUSE') resolve(false);
      else reject(new PortError(`Port ${port} of ${host} cannot be used: ${cause.message}`, { cause }));
    });
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}
