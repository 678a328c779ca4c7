// Runs inside a network namespace: hands connections to 127.0.0.1:port on to a socket in the file system.
import { connect, createServer } from 'node:net';

const [port, path] = process.argv.slice(2);

createServer((socket) => {
  const onward = connect(path);
  for (const [from, to] of [
    [socket, onward],
    [onward, socket],
  ]) {
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.pipe(to);
  }
}).listen(Number(port), '127.0.0.1', () => console.log('listening'));
