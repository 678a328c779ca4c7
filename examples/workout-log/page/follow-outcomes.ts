/**
 * Hands over what became of changes, each once in this browser, also what ended while no page was open: reads on in
 * the journal from where the last page stopped.
 */
import type { Outcome } from 'holdfast/shared';
import type { DemoOutbox } from './connect-session.ts';

type Place = Parameters<DemoOutbox['journal']>[0];

export interface OutcomeBatch {
  readonly outcomes: readonly Outcome[];
  /** Some are missing in front: read everything again. */
  readonly truncated: boolean;
}

export function followOutcomes(
  outbox: DemoOutbox,
  owner: string,
  listener: (batch: OutcomeBatch) => void,
): () => void {
  const key = `basement-log:journal:${encodeURIComponent(owner)}`;
  const kept = localStorage.getItem(key);
  let place: Place = kept === null ? undefined : (JSON.parse(kept) as Place);
  let isReading = false;
  let isBehind = false;

  async function readOn(): Promise<void> {
    do {
      isBehind = false;
      const { epoch, entries, truncated, last } = await outbox.journal(place);
      const isFirst = place === undefined;
      place = { epoch, n: entries.at(-1)?.n ?? last };
      localStorage.setItem(key, JSON.stringify(place));
      if (isFirst || (entries.length === 0 && !truncated)) continue;
      listener({ outcomes: entries.map(({ outcome }) => outcome), truncated });
      isBehind ||= place.n < last;
    } while (isBehind);
  }

  const check = (): void => {
    isBehind = true;
    if (isReading) return;
    isReading = true;
    readOn()
      // The next change of the outbox asks again.
      .catch(() => undefined)
      .finally(() => {
        isReading = false;
      });
  };
  check();
  return outbox.view.subscribe(check);
}
