/** The demo server's fault switches. They answer whatever they break, so these calls pass the offline switch by. */
export interface LabFault {
  readonly id: string;
  readonly label: string;
  /** What a person should expect to see. */
  readonly hint: string;
  readonly fault: Readonly<Record<string, unknown>>;
}

export const LAB_FAULTS: readonly LabFault[] = [
  {
    id: 'delay',
    label: 'Slow: 3 seconds',
    hint: 'Each change shows as being sent for a while.',
    fault: { type: 'delay', ms: 3000 },
  },
  {
    id: 'drop',
    label: 'Applies, answer lost',
    hint: 'Sent again under its key: the server has it once.',
    fault: { type: 'reset_after' },
  },
  {
    id: 'reset',
    label: 'Connection breaks',
    hint: 'Nothing reaches the server; everything waits.',
    fault: { type: 'reset_before' },
  },
  {
    id: '500',
    label: 'Error 500',
    hint: 'This change rests and is tried again; others go on.',
    fault: { type: 'status', status: 500 },
  },
  {
    id: '429',
    label: '429, come back in 20 s',
    hint: 'Nothing leaves before the time the server named.',
    fault: { type: 'status', status: 429, retryAfter: 20 },
  },
  {
    id: '401',
    label: '401, signed out',
    hint: 'Everything is held until you sign in again.',
    fault: { type: 'status', status: 401 },
  },
  {
    id: '422',
    label: 'Refused for good',
    hint: 'It needs you: put it right, send it again or discard it.',
    fault: { type: 'status', status: 422, code: 'invalid' },
  },
  {
    id: 'portal',
    label: 'Captive portal',
    hint: 'A Wi-Fi sign-in page is not taken for success.',
    fault: { type: 'portal' },
  },
  {
    id: 'wrong_receipt',
    label: 'Receipt of another change',
    hint: 'Result unknown: shown as such, never as saved.',
    fault: { type: 'wrong_receipt', field: 'id' },
  },
  {
    id: 'no_receipt',
    label: 'No receipt',
    hint: 'Result unknown: shown as such, never as saved.',
    fault: { type: 'no_receipt' },
  },
];

export interface LabState {
  readonly stopped: boolean;
  readonly rules: readonly {
    readonly fault: { readonly type: string };
    readonly count?: number;
    readonly hits: number;
  }[];
}

export type LabChange = { readonly stopped: boolean } | { readonly rules: readonly LabRule[] };

/** Only changes meet it: reads and sign-in go on. */
export interface LabRule {
  readonly fault: LabFault['fault'];
  readonly count?: number | undefined;
  readonly match: { readonly family?: string; readonly method?: string };
}

const PATH = '/api/_test/faults';

/** `undefined` where the server has no switches, as in production, or cannot be reached. */
export async function readLab(): Promise<LabState | undefined> {
  const response = await fetch(PATH).catch(() => undefined);
  return response?.ok ? ((await response.json()) as LabState) : undefined;
}

export async function changeLab(change: LabChange): Promise<LabState | undefined> {
  const response = await fetch(PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(change),
  }).catch(() => undefined);
  return response?.ok ? ((await response.json()) as LabState) : undefined;
}

export function rulesFor(fault: LabFault, count: number | undefined): readonly LabRule[] {
  return ['workout', 'plan'].map((family) => ({ fault: fault.fault, count, match: { family } }));
}
