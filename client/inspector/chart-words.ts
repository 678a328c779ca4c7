/** The texts of the chart (W50). */
const n = (count: number): string => count.toLocaleString('en');

export const CHART_ENGLISH = {
  history: 'The last five minutes',
  depth: 'Waiting',
  throughput: 'Accepted',
  perStep: (seconds: number) => `Accepted in ${seconds} s`,
  chartSays: (now: number, most: number, sent: number) =>
    `${n(now)} waiting now, at most ${n(most)} in the last five minutes. ` +
    `The server accepted ${n(sent)} in that time.`,
  asTable: 'As a table',
  minute: 'Minute',
  now: 'now',
  none: '–',
  ago: (minutes: number) => `−${minutes} min`,
};

export type ChartWords = Readonly<typeof CHART_ENGLISH>;
