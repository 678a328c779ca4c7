/** When the worker hears, begins and ends what a call is made of: marks by the clock that pages share. */
import type { Mark } from '../common/worker-calls.ts';

/** Never taken back, as counting is not. Answers the marks made since it was asked last. */
export function traceCalls(): () => readonly Mark[] {
  let marks: Mark[] = [];
  const mark = (what: string): void => {
    marks.push({ at: performance.timeOrigin + performance.now(), what });
  };

  const begin = IDBDatabase.prototype.transaction;
  IDBDatabase.prototype.transaction = function (this: IDBDatabase, ...args) {
    const transaction = Reflect.apply(begin, this, args) as IDBTransaction;
    const name = `${args[1] ?? 'readonly'} transaction of ${[args[0]].flat().join(', ')}`;
    mark(`begin ${name}`);
    transaction.addEventListener('complete', () => mark(`complete ${name}`));
    const commit = transaction.commit;
    transaction.commit = () => {
      mark(`written ${name}`);
      commit.call(transaction);
    };
    return transaction;
  };
  const post = MessagePort.prototype.postMessage;
  MessagePort.prototype.postMessage = function (this: MessagePort, ...args: unknown[]) {
    const [message] = args;
    const isAnswer = typeof message === 'object' && message !== null && 'type' in message;
    mark(isAnswer ? 'post the answer' : 'post who has the call');
    Reflect.apply(post, this, args);
  };
  const tell = BroadcastChannel.prototype.postMessage;
  BroadcastChannel.prototype.postMessage = function (this: BroadcastChannel, message: unknown) {
    mark('broadcast');
    tell.call(this, message);
  };
  addEventListener('message', () => mark('message, after its first turn'));
  return () => {
    const made = marks;
    marks = [];
    return made;
  };
}
