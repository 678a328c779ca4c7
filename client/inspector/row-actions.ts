/** What a person may do about one row (R34, R35), and how they hear how it went. */

import type { ViewRow } from '../../shared/protocol.ts';
import { isJson } from '../is-json.ts';
import { toText } from './as-json.ts';
import type { Asking, Detail, InspectedOutbox } from './model.ts';
import type { RowWords } from './row-words.ts';

/** What the controller lends the part that shows rows. */
export interface Screen {
  readonly outbox: InspectedOutbox;
  setDetail(origin: string, part: Partial<Detail>): void;
  say(text: string): void;
  /** Takes the last complaint back. */
  hush(): void;
  complain(error: unknown): void;
  /** After the next drawing the focus is on the row's title, or on what it asks. */
  focusNext(origin: string, where: 'title' | 'ask'): void;
}

export interface RowActions {
  showBody(row: ViewRow): void;
  ask(row: ViewRow, asking: Asking | undefined): void;
  retry(row: ViewRow): void;
  /** `text`: JSON. `revision`: what the copy was made on, or nothing. */
  recover(row: ViewRow, text: string, revision: string): void;
  discard(row: ViewRow): void;
  cancel(row: ViewRow): void;
}

export function createRowActions(screen: Screen, words: RowWords): RowActions {
  const { outbox, setDetail, say, hush, complain, focusNext } = screen;

  async function carryOut({ origin }: ViewRow, work: () => Promise<string>): Promise<void> {
    hush();
    setDetail(origin, { isBusy: true, problem: undefined });
    try {
      say(await work());
      focusNext(origin, 'title');
      setDetail(origin, { isBusy: false, asking: undefined });
    } catch (error) {
      complain(error);
      setDetail(origin, { isBusy: false });
    }
  }
  async function readBody({ id, origin }: ViewRow): Promise<void> {
    try {
      const [found] = await outbox.bodies([id]);
      setDetail(origin, { body: found ? { text: toText(found.body), isJson: isJson(found.body) } : 'none' });
    } catch (error) {
      complain(error);
    }
  }

  return {
    showBody: (row) => void readBody(row),
    async ask(row, asking) {
      if (asking === 'edit') await readBody(row);
      focusNext(row.origin, asking === undefined ? 'title' : 'ask');
      setDetail(row.origin, { asking, problem: undefined });
    },
    retry: (row) =>
      void carryOut(row, async () => {
        await outbox.retry(row.id, { overwrite: row.overtakenBy !== undefined });
        return words.retried;
      }),
    recover(row, text, revision) {
      let body: unknown;
      try {
        body = JSON.parse(text);
      } catch (error) {
        focusNext(row.origin, 'ask');
        setDetail(row.origin, { problem: words.notJson(error instanceof Error ? error.message : '') });
        return;
      }
      const made = revision === '' ? undefined : Number(revision);
      const expectedRevision = made === row.expectedRevision ? undefined : made;
      void carryOut(row, async () => {
        await outbox.recover(row.id, { body, expectedRevision });
        return words.recovered;
      });
    },
    discard: (row) =>
      void carryOut(row, async () => {
        await outbox.discard(row.id);
        return words.discarded;
      }),
    cancel: (row) =>
      void carryOut(row, async () => {
        const { type } = await outbox.cancel(row.id);
        return type === 'cancelled' ? words.cancelled : words.notCancelled;
      }),
  };
}
