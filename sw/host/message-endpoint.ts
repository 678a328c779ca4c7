/**
 * The worker's end of the line (W10, W16): takes a page's message, refuses what is not exactly a call of
 * `WorkerApi`, and answers on the port that came along. Comlink does the calling; it never sees a message that was
 * not checked here, because by itself it would read and write any path of the exposed object and run constructors.
 */
import { type Endpoint, expose, transferHandlers } from 'comlink';
import { encodeError, type WireError } from '../../shared/error-transfer.ts';
import {
  type HoldfastError,
  InvalidCommandError,
  ProtocolError,
  UnknownCallError,
} from '../../shared/errors.ts';
import { type Acknowledgement, agreeProtocol, PROTOCOL, type WorkerApi } from '../../shared/protocol.ts';
import { wrongArgument } from './check-arguments.ts';

/** What is read of an `ExtendableMessageEvent`. */
export interface IncomingMessage {
  readonly data: unknown;
  readonly origin: string;
  readonly ports: readonly ReplyPort[];
}

export interface ReplyPort {
  postMessage(message: unknown, transfer?: Transferable[]): void;
}

export interface MessageEndpoint {
  /** Ends when the call is answered; `undefined` for a message that is none of ours. Never rejects. */
  receive(message: IncomingMessage): Promise<void> | undefined;
  /** Calls that have not been answered. */
  readonly openCount: number;
}

export interface MessageEndpointDeps {
  /** The worker's own origin; messages from another are ignored. */
  readonly origin: string;
  /** Who this host is, once it holds its lock (C6). */
  readonly identity: Promise<Omit<Acknowledgement, 'holdfast' | 'protocol'>>;
  readonly protocol?: number | undefined;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly argumentList: readonly unknown[];
  /** The place of an argument that the call does not take. */
  readonly wrong: number | undefined;
}

const MAX_ARGUMENTS = 6;
const MAX_NAME_LENGTH = 200;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function readCall(message: unknown): Call | undefined {
  if (!isRecord(message)) return undefined;
  const { id, type, path, argumentList } = message;
  if (typeof id !== 'string' || id.length > MAX_NAME_LENGTH || type !== 'APPLY') return undefined;
  const name: unknown = Array.isArray(path) && path.length === 1 ? path[0] : undefined;
  if (typeof name !== 'string' || name.length > MAX_NAME_LENGTH) return undefined;
  if (!Array.isArray(argumentList) || argumentList.length > MAX_ARGUMENTS) return undefined;
  // `HANDLER` values would let a message choose how it is read, a proxy back into the page included.
  if (!argumentList.every((value) => isRecord(value) && value['type'] === 'RAW')) return undefined;
  const wrong = wrongArgument(
    name,
    argumentList.map(({ value }) => value),
  );
  return { id, name, argumentList, wrong };
}

export function createMessageEndpoint(api: WorkerApi, deps: MessageEndpointDeps): MessageEndpoint {
  const { origin, identity, protocol = PROTOCOL } = deps;
  const open = new Map<
    string,
    { readonly id: string; readonly port: ReplyPort; readonly done: () => void }
  >();
  let deliver: (event: { readonly data: unknown }) => void = () => undefined;
  let count = 0;

  const original = transferHandlers.get('throw');
  if (original)
    transferHandlers.set('throw', { ...original, serialize: (thrown) => [encodeThrown(thrown), []] });

  const endpoint: Endpoint = {
    postMessage(message, transfer) {
      const call = open.get(message.id);
      if (!call) return;
      call.port.postMessage({ ...message, id: call.id }, transfer);
      open.delete(message.id);
      call.done();
    },
    addEventListener(_type, listener) {
      if (typeof listener === 'function') deliver = (event) => listener(new MessageEvent('message', event));
    },
    removeEventListener() {},
  };
  expose(api, endpoint);

  const refuse = (port: ReplyPort, message: unknown, error: HoldfastError): void => {
    const id = isRecord(message) ? message['id'] : undefined;
    if (typeof id === 'string')
      port.postMessage({ id, type: 'HANDLER', name: 'throw', value: encodeError(error) });
  };

  return {
    receive({ data, ports, origin: from }) {
      const [port] = ports;
      if (!isRecord(data) || data['holdfast'] !== 'call' || !port) return undefined;
      // An empty origin is a browser that does not say; only pages of this origin can reach a worker at all.
      if (from !== '' && from !== origin) return undefined;
      const { message } = data;
      const agreed = agreeProtocol(data['protocol'], protocol);
      const call = readCall(message);
      if (agreed === undefined) {
        refuse(port, message, new ProtocolError(`This host speaks protocol ${protocol}`, { protocol }));
      } else if (!call) {
        refuse(port, message, new InvalidCommandError('The message is not a call'));
      } else if (!Object.hasOwn(api, call.name)) {
        refuse(port, message, new UnknownCallError(`No call is named ${call.name}`, { call: call.name }));
      } else if (call.wrong !== undefined) {
        const { name, wrong: argument } = call;
        refuse(
          port,
          message,
          new InvalidCommandError(`${name} was given what it does not take`, { argument }),
        );
      } else {
        const { name, argumentList } = call;
        // A number of our own: two pages must not meet because they made the same id.
        const id = String(++count);
        return new Promise((done) => {
          open.set(id, { id: call.id, port, done });
          void identity.then((host) => {
            if (open.has(id)) port.postMessage({ holdfast: 'has', protocol: agreed, ...host });
          });
          deliver({ data: { id, type: 'APPLY', path: [name], argumentList } });
        });
      }
      return Promise.resolve();
    },
    get openCount() {
      return open.size;
    },
  };
}

function encodeThrown(thrown: unknown): WireError {
  return encodeError(isRecord(thrown) ? thrown['value'] : thrown);
}
