// Runs inside a network namespace: hands connections to one place on to another. A place is a port of 127.0.0.1, or a
// socket in the file system.
import { connect, createServer } from 'node:net';

const [from, to] = process.argv
  .slice(2)
  .map((place) => (/^\d+$/.test(place) ? { port: Number(place), host: '127.0.0.1' } : { path: place }));

createServer((socket) => {
  const onward = connect(to);
  for (const [one, other] of [
    [socket, onward],
    [onward, socket],
  ]) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
    one.pipe(other);
  }
}).listen(from, () => console.log('listening'));
