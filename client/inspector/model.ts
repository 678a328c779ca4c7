/** What the views are given: the outbox as it is now, and what the person at the screen has chosen. */
import type { Families } from '../../shared/family.ts';
import type { JournalEntry } from '../../shared/outcome.ts';
import type { ViewRow } from '../../shared/protocol.ts';
import type { Explanation } from '../add-words.ts';
import type { OutboxMethods } from '../outbox.ts';
import type { ViewSnapshot } from '../view-snapshot.ts';
import type { Format } from './format.ts';
import type { Step } from './history.ts';
import type { RowFilter, RowLinks, RowPage } from './rows.ts';
import type { VNode } from './vnode.ts';
import type { ScreenWords } from './words.ts';

/** What the inspector asks of an outbox; every connected one has it. */
export type InspectedOutbox = Pick<
  OutboxMethods<Families>,
  | 'view'
  | 'explain'
  | 'bodies'
  | 'journal'
  | 'retry'
  | 'recover'
  | 'discard'
  | 'cancel'
  | 'flush'
  | 'pause'
  | 'resume'
  | 'export'
  | 'persist'
>;

/** What is asked of the person about one row. */
export type Asking = 'edit' | 'discard' | 'cancel';

export interface RowBody {
  readonly text: string;
  /** It can be edited as JSON without losing anything. */
  readonly isJson: boolean;
}

/** What this screen knows of a row beyond the live view. */
export interface Detail {
  readonly isOpen: boolean;
  /** `gone`: no longer on this device. Absent until the host has answered. */
  readonly explained?: Explanation | 'gone' | undefined;
  /** `none`: it cannot be read. Absent until asked for. */
  readonly body?: RowBody | 'none' | undefined;
  readonly asking?: Asking | undefined;
  /** What is wrong with what the person wrote. */
  readonly problem?: string | undefined;
  readonly isBusy?: boolean | undefined;
}

/** What is shown and done about single rows: a chunk of its own, which comes with the first row. */
export interface RowPart {
  viewRow(model: Model, row: ViewRow, actions: Actions): VNode;
  toText(value: unknown): string;
}

/** The picture of the last minutes: a chunk of its own. */
export interface ChartPart {
  viewChart(model: Model): VNode;
}

export interface Model {
  readonly words: ScreenWords;
  readonly format: Format;
  readonly now: number;
  readonly snapshot: ViewSnapshot;
  readonly filter: RowFilter;
  readonly page: RowPage;
  readonly families: readonly string[];
  readonly links: RowLinks;
  /** By origin, which a row keeps while its id changes. */
  readonly details: ReadonlyMap<string, Detail>;
  readonly rowPart: RowPart | undefined;
  readonly chartPart: ChartPart | undefined;
  /** Newest first. */
  readonly outcomes: readonly JournalEntry[];
  readonly steps: readonly Step[];
  readonly chartWidth: number;
  readonly isFlushing: boolean;
  /** The app's own name for a row. */
  readonly nameOf: ((row: ViewRow) => string | undefined) | undefined;
}

export interface Actions {
  flush(): void;
  pause(): void;
  resume(): void;
  exportAll(): void;
  persist(): void;
  filter(part: Partial<RowFilter>): void;
  turnTo(page: number): void;
  toggle(row: ViewRow): void;
  /** Shows a row of any page and moves the focus to it. */
  goTo(origin: string): void;
}
