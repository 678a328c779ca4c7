/**
 * Error ⇄ wire form, for both ends of the line (W15). Class, code, message, data and cause of Holdfast's own
 * errors survive; any other error keeps name and message; anything else that was thrown becomes plain data. The
 * form contains Comlink's own, so other users of Comlink in the same realm notice nothing.
 */
import { type Cure, type ErrorData, HoldfastError } from './call-errors.ts';

interface WireHoldfast {
  readonly code: string;
  readonly cure: Cure;
  readonly data: ErrorData;
  readonly cause?: WireError | undefined;
}

export type WireError =
  | { readonly isError: false; readonly value: unknown }
  | {
      readonly isError: true;
      readonly value: {
        readonly name: string;
        readonly message: string;
        readonly stack?: string | undefined;
      };
      /** Only of Holdfast's own errors. */
      readonly holdfast?: WireHoldfast | undefined;
    };

/** Deeper or longer than this is cut: an error is no place for a payload. */
const MAX_DEPTH = 6;
const MAX_MEMBERS = 100;

/** A copy that any structured clone accepts: functions, symbols and class instances become text or plain members. */
export function toPlain(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'undefined':
      return value;
    case 'object':
      break;
    default:
      return String(value);
  }
  if (value === null) return null;
  if (depth >= MAX_DEPTH) return '…';
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((member) => toPlain(member, depth + 1));
  const plain: Record<string, unknown> = {};
  for (const [name, member] of membersOf(value)) plain[name] = toPlain(member, depth + 1);
  return plain;
}

function membersOf(value: object): readonly (readonly [string, unknown])[] {
  try {
    // A message and a name are not enumerable where it matters most.
    const entries: (readonly [string, unknown])[] = Object.entries(value).slice(0, MAX_MEMBERS);
    return value instanceof Error
      ? [['name', value.name] as const, ['message', value.message] as const, ...entries]
      : entries;
  } catch {
    // A proxy or getter that throws must not replace the error that is being told.
    return [];
  }
}

export function encodeError(thrown: unknown, depth = 0): WireError {
  if (!(thrown instanceof Error)) return { isError: false, value: toPlain(thrown) };
  const { name, message, stack, cause } = thrown;
  if (!(thrown instanceof HoldfastError)) return { isError: true, value: { name, message, stack } };
  const data: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(thrown.data)) data[member] = toPlain(value, 1);
  return {
    isError: true,
    value: { name, message },
    holdfast: {
      code: thrown.code,
      cure: thrown.cure,
      data,
      cause: cause === undefined || depth > 2 ? undefined : encodeError(cause, depth + 1),
    },
  };
}

/** An error of Holdfast as it arrives; `instanceof` goes by its code, one of a newer release's included. */
class ArrivedError extends HoldfastError {
  readonly code = '';
}

/** From the wire form; whatever else came over the line is the thrown value itself. */
export function decodeError(wire: unknown): unknown {
  if (!isWireError(wire)) return wire;
  if (!wire.isError) return wire.value;
  const { value, holdfast } = wire;
  if (!holdfast) return Object.assign(new Error(value.message), value);
  const { code, cure, data, cause } = holdfast;
  const options = cause && { cause: decodeError(cause) };
  return Object.assign(new ArrivedError(value.message, data, options), { code, cure });
}

function isWireError(wire: unknown): wire is WireError {
  return 'isError' in Object(wire);
}
