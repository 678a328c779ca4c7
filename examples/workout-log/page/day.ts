/** Days as `2026-11-30`, in the person's own time zone. */
export type Day = string;

export function toDay(date: Date): Day {
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export function toDate(day: Day): Date {
  return new Date(`${day}T12:00:00`);
}

export function addDays(day: Day, count: number): Day {
  const date = toDate(day);
  date.setDate(date.getDate() + count);
  return toDay(date);
}

/** Monday to Sunday. */
export function weekOf(day: Day): readonly Day[] {
  const monday = addDays(day, -((toDate(day).getDay() + 6) % 7));
  return [0, 1, 2, 3, 4, 5, 6].map((n) => addDays(monday, n));
}

const format = (options: Intl.DateTimeFormatOptions): ((day: Day) => string) => {
  const formatter = new Intl.DateTimeFormat('en-GB', options);
  return (day) => formatter.format(toDate(day));
};

export const formatWeekday = format({ weekday: 'short' });
export const formatDayOfMonth = format({ day: 'numeric' });
export const formatLong = format({ weekday: 'long', day: 'numeric', month: 'long' });
export const formatMonth = format({ month: 'long', year: 'numeric' });

export function formatRelative(day: Day, today: Day): string {
  if (day === today) return 'Today';
  if (day === addDays(today, -1)) return 'Yesterday';
  if (day === addDays(today, 1)) return 'Tomorrow';
  return formatLong(day);
}

/** `just now`, `4 min ago`, `2 h ago`, `3 d ago`. */
export function formatAge(at: number, now: number): string {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${Math.floor(minutes / 60 / 24)} d ago`;
}

/** Epoch ms of the next midnight, by the device's clock. */
export function endOfDay(now: Date): number {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).getTime();
}

/** `23:59`, and `midnight` for the end of a day. */
export function formatTime(at: number): string {
  const date = new Date(at);
  if (date.getHours() === 0 && date.getMinutes() === 0) return 'midnight';
  return new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' }).format(date);
}
