/** Where the lines and bars of the chart stand, in CSS pixels. Pure. */
import type { Step } from './history.ts';

export interface Bar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Tick {
  readonly at: number;
  readonly value: number;
}

export interface Chart {
  readonly width: number;
  readonly height: number;
  /** Left edge of what is drawn: before it stand the figures of the scales. */
  readonly left: number;
  /** SVG paths; empty before the first look. */
  readonly line: string;
  readonly area: string;
  /** Where the line ends, which is now. */
  readonly end: { readonly x: number; readonly y: number } | undefined;
  readonly bars: readonly Bar[];
  /** Heights of the scales' figures. */
  readonly depthTicks: readonly Tick[];
  readonly sentTicks: readonly Tick[];
  /** Minutes ago, and where on the time axis. */
  readonly times: readonly Tick[];
  readonly depthTop: number;
  readonly sentTop: number;
}

const LEFT = 40;
const RIGHT = 8;
const DEPTH_TOP = 26;
const DEPTH_HEIGHT = 92;
const SENT_TOP = DEPTH_TOP + DEPTH_HEIGHT + 36;
const SENT_HEIGHT = 46;
const HEIGHT = SENT_TOP + SENT_HEIGHT + 22;
const MIN_WIDTH = 180;
const LABEL_WIDTH = 56;
/** As history.ts takes them. */
export const STEPS_PER_MINUTE = 12;

/** The end of a scale: 2, 5 or 10 times a power of ten, and never so small that one row fills it. */
export function niceTop(most: number): number {
  if (most <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 4, 5, 10].find((factor) => factor * power >= most) ?? 10;
  return step * power;
}

const round = (value: number): number => Math.round(value * 10) / 10;

export function drawChart(steps: readonly Step[], wantedWidth: number): Chart {
  const width = Math.max(MIN_WIDTH, Math.floor(wantedWidth));
  const slot = (width - LEFT - RIGHT) / Math.max(1, steps.length);
  const depthMost = niceTop(Math.max(0, ...steps.map(({ depth = 0 }) => depth)));
  const sentMost = niceTop(Math.max(0, ...steps.map(({ sent }) => sent)));
  const depthBase = DEPTH_TOP + DEPTH_HEIGHT;
  const sentBase = SENT_TOP + SENT_HEIGHT;

  const points = steps.flatMap(({ depth }, place) =>
    depth === undefined
      ? []
      : {
          x: round(LEFT + (place + 1) * slot),
          y: round(depthBase - (depth / depthMost) * DEPTH_HEIGHT),
        },
  );
  const [first] = points;
  const end = points.at(-1);
  // Rows come and go at once, so the line goes in steps: nothing is claimed about the time between two looks.
  const line = first
    ? `M${first.x} ${first.y}${points
        .slice(1)
        .map(({ x, y }) => `H${x}V${y}`)
        .join('')}`
    : '';
  const bars = steps.flatMap(({ sent }, place) => {
    const height = Math.max(2, round((sent / sentMost) * SENT_HEIGHT));
    return sent === 0
      ? []
      : {
          x: round(LEFT + place * slot + slot * 0.15),
          y: round(sentBase - height),
          width: round(slot * 0.7),
          height,
        };
  });
  const ticks = (most: number, base: number, height: number): readonly Tick[] => [
    { value: most, at: base - height },
    { value: most / 2, at: base - height / 2 },
    { value: 0, at: base },
  ];
  const minutes = Math.floor(steps.length / STEPS_PER_MINUTE);
  // Where minutes are narrow, not every one has a label.
  const every = Math.ceil(LABEL_WIDTH / (STEPS_PER_MINUTE * slot));
  return {
    width,
    height: HEIGHT,
    left: LEFT,
    line,
    area: first && end ? `${line}V${depthBase}H${first.x}Z` : '',
    end,
    bars,
    depthTicks: ticks(depthMost, depthBase, DEPTH_HEIGHT),
    sentTicks: ticks(sentMost, sentBase, SENT_HEIGHT).filter(
      ({ value }) => value === sentMost || value === 0,
    ),
    times: Array.from({ length: Math.floor(minutes / every) + 1 }, (_, place) => ({
      value: place * every,
      at: round(width - RIGHT - place * every * STEPS_PER_MINUTE * slot),
    })),
    depthTop: DEPTH_TOP,
    sentTop: SENT_TOP,
  };
}

export interface Minute {
  /** Minutes ago: 0 is the one under way. */
  readonly ago: number;
  readonly depth: number | undefined;
  readonly sent: number;
}

/** For the table beside the chart: the same in whole minutes, newest first. */
export function minutesOf(steps: readonly Step[]): readonly Minute[] {
  const size = STEPS_PER_MINUTE;
  return Array.from({ length: steps.length / size }, (_, ago) => {
    const part = steps.slice(steps.length - (ago + 1) * size, steps.length - ago * size);
    const depths = part.flatMap(({ depth }) => depth ?? []);
    return {
      ago,
      depth: depths.length > 0 ? Math.max(...depths) : undefined,
      sent: part.reduce((sum, { sent }) => sum + sent, 0),
    };
  });
}
