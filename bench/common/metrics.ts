/** The figures that count, with their budgets: ratios and counts, so that they mean something on any machine. */

export type Unit = 'ratio' | 'ms' | 'count' | 'bytes' | 'KB' | 'MB';

export interface Budget {
  readonly id: string;
  readonly what: string;
  readonly unit: Unit;
  /** Absent: reported only. */
  readonly atMost?: number | undefined;
}

export const BUDGETS: readonly Budget[] = [
  {
    id: 'drain_1000_vs_bare_c6',
    what: 'drain of 1,000 rows ÷ bare loop, 6 at once',
    unit: 'ratio',
    atMost: 2,
  },
  { id: 'drain_1000_vs_workbox', what: 'the same ÷ workbox replay', unit: 'ratio', atMost: 0.5 },
  {
    id: 'drain_1000_50ms_vs_bare_c6',
    what: 'with 50 ms server delay ÷ bare loop',
    unit: 'ratio',
    atMost: 1.05,
  },
  { id: 'drain_1000_50ms_vs_workbox', what: 'with 50 ms ÷ workbox replay', unit: 'ratio', atMost: 0.2 },
  {
    id: 'drain_h2_50ms_vs_bare_c32',
    what: 'HTTP/2, 50 ms, 32 at once ÷ bare loop',
    unit: 'ratio',
    atMost: 1.15,
  },
  { id: 'drain_growth_10000', what: 'ms per row at 10,000 ÷ at 100', unit: 'ratio', atMost: 1.1 },
  { id: 'enqueue_p50_vs_raw', what: 'durable enqueue ÷ one strict put', unit: 'ratio', atMost: 2 },
  { id: 'enqueue_p99_ms', what: 'durable enqueue, p99', unit: 'ms' },
  { id: 'enqueue_burst_vs_workbox', what: '1,000 at once ÷ 1,000 pushRequest', unit: 'ratio', atMost: 0.5 },
  {
    id: 'enqueue_cold_ms',
    what: 'first enqueue of a stopped worker ÷ bare cold ping',
    unit: 'ratio',
    atMost: 2,
  },
  {
    id: 'enqueue_growth_100000',
    what: 'enqueue with 100,000 waiting ÷ with 100',
    unit: 'ratio',
    atMost: 1.2,
  },
  {
    id: 'open_growth_100000',
    what: 'start to first answer with 100,000 ÷ with 0',
    unit: 'ratio',
    atMost: 1.5,
  },
  { id: 'payload_reads_per_row', what: 'body reads while draining, per row', unit: 'count', atMost: 1.05 },
  { id: 'rows_read_per_row', what: 'row records read while draining, per row', unit: 'count', atMost: 4 },
  { id: 'transactions_per_row', what: 'readwrite transactions per drained row', unit: 'count', atMost: 0.5 },
  { id: 'full_reads_per_drain', what: 'reads that cover the whole store', unit: 'count', atMost: 0 },
  {
    id: 'mirror_bytes_vs_payload',
    what: 'bytes to both witnesses ÷ payload bytes',
    unit: 'ratio',
    atMost: 2,
  },
  { id: 'snapshot_rewrites_per_drain', what: 'whole-snapshot writes per drain', unit: 'count', atMost: 4 },
  { id: 'drain_heap_mb_10000x20k', what: 'worker heap above idle, 10,000 × 20 KB', unit: 'MB', atMost: 64 },
  { id: 'view_update_ms_10000', what: 'one change in a view of 10,000 rows', unit: 'ms', atMost: 1 },
  { id: 'view_messages_bytes_per_row', what: 'bytes broadcast per drained row', unit: 'bytes', atMost: 600 },
  { id: 'size_client_gz', what: 'page part, min+gzip, with Comlink', unit: 'KB', atMost: 5 },
  { id: 'size_sw_gz', what: 'worker part, min+gzip', unit: 'KB', atMost: 20 },
  { id: 'size_inspector_gz', what: 'inspector element, min+gzip', unit: 'KB', atMost: 12 },
];

export interface Metric {
  readonly value: number;
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly n: number;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** With interpolation between neighbours. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * q;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

export function summarise(samples: readonly number[], unit: Unit): Metric {
  const round = (value: number): number => Number(value.toPrecision(4));
  return {
    value: round(median(samples)),
    unit,
    min: round(Math.min(...samples)),
    max: round(Math.max(...samples)),
    n: samples.length,
  };
}

/** One line of the table: id, value with spread, budget, verdict. */
export function formatLine(budget: Budget, metric: Metric): string {
  const { id, unit, what, atMost } = budget;
  const limit = atMost === undefined ? 'reported' : `≤ ${atMost}`;
  const verdict = atMost === undefined ? '    ' : metric.value <= atMost ? 'ok  ' : 'OVER';
  const spread = metric.n > 1 ? ` (${metric.min}..${metric.max}, n ${metric.n})` : '';
  return `${verdict} ${id.padEnd(30)} ${String(metric.value).padStart(9)} ${unit.padEnd(5)} ${limit.padEnd(9)} ${what}${spread}`;
}
