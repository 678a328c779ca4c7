/** Instants, ages and sizes in the person's language. */

export interface Format {
  /** The time of day, with the date where it is another day than `now`. */
  time(at: number): string;
  /** How long before `now`. */
  ago(at: number): string;
  count(count: number): string;
  bytes(count: number): string;
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const satisfies readonly (readonly [Intl.RelativeTimeFormatUnit, number])[];
const SIZES = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** @param locale a BCP 47 tag; `undefined` is the browser's own */
export function createFormat(locale: string | undefined): (now: number) => Format {
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });
  const dated = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
  const number = new Intl.NumberFormat(locale);
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
  return (now) => ({
    time: (at) => {
      const isToday = new Date(at).toDateString() === new Date(now).toDateString();
      return (isToday ? time : dated).format(at);
    },
    ago(at) {
      // A clock that was set back makes what happened then seem to come; for a person it is just now.
      const age = Math.max(0, now - at);
      const [unit, ms] = UNITS.find(([, size]) => age >= size) ?? ['second', 1_000];
      return relative.format(-Math.floor(age / ms), unit);
    },
    count: (count) => number.format(count),
    bytes(count) {
      const power = Math.min(
        SIZES.length - 1,
        Math.max(0, Math.floor(Math.log(count || 1) / Math.log(1_000))),
      );
      const unit = SIZES[power] ?? 'byte';
      // The short form of a byte is not counted in English: “70 byte”.
      const unitDisplay = power === 0 ? 'long' : 'short';
      const style = { style: 'unit', unit, unitDisplay, maximumFractionDigits: power > 1 ? 1 : 0 } as const;
      return new Intl.NumberFormat(locale, style).format(count / 1_000 ** power);
    },
  });
}
