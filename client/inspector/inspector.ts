/** `<holdfast-inspector>`: the element around the controller. Made on request, since Node has no HTMLElement. */
import type { ViewRow } from '../../shared/protocol.ts';
import { type Inspector, startInspector } from './controller.ts';
import type { InspectedOutbox } from './model.ts';
import type { InspectorWords } from './words.ts';

/**
 * Shows one outbox to a person who looks after it (W50). Colours and fonts are custom properties (`--holdfast-…`),
 * pieces are parts; the attribute `theme` (`light`, `dark`) overrides what the device prefers.
 */
export interface HoldfastInspector extends HTMLElement {
  /** A connected outbox. `undefined` shows nothing. */
  outbox: InspectedOutbox | undefined;
  /** Texts in place of the English ones. */
  words: Partial<InspectorWords>;
  /** The app's own name for a row, where it has a better one than its command and family. */
  nameOf: ((row: ViewRow) => string | undefined) | undefined;
}

declare global {
  interface HTMLElementTagNameMap {
    'holdfast-inspector': HoldfastInspector;
  }
}

const PROPERTIES = ['outbox', 'words', 'nameOf'] as const;

function createClass(): new () => HoldfastInspector {
  return class extends HTMLElement implements HoldfastInspector {
    #outbox: InspectedOutbox | undefined;
    #words: Partial<InspectorWords> = {};
    #nameOf: ((row: ViewRow) => string | undefined) | undefined;
    #inspector: Inspector | undefined;
    readonly #root = this.attachShadow({ mode: 'open' });
    readonly #frame = document.createElement('section');
    readonly #status = document.createElement('p');
    readonly #alert = document.createElement('p');
    readonly #sizes = new ResizeObserver(() => this.#inspector?.measure());

    constructor() {
      super();
      this.#frame.setAttribute('aria-labelledby', 'title');
      this.#status.setAttribute('role', 'status');
      this.#alert.setAttribute('role', 'alert');
      this.#status.className = 'unseen';
      this.#alert.className = 'alert';
      this.#root.append(this.#alert, this.#frame, this.#status);
      // Set before the element was defined: they would hide the accessors.
      for (const name of PROPERTIES) {
        if (!Object.hasOwn(this, name)) continue;
        const value: unknown = Reflect.get(this, name);
        Reflect.deleteProperty(this, name);
        Reflect.set(this, name, value);
      }
    }
    get outbox() {
      return this.#outbox;
    }
    set outbox(outbox) {
      if (outbox === this.#outbox) return;
      this.#outbox = outbox;
      this.#start();
    }
    get words() {
      return this.#words;
    }
    set words(words) {
      this.#words = words;
      this.#start();
    }
    get nameOf() {
      return this.#nameOf;
    }
    set nameOf(nameOf) {
      this.#nameOf = nameOf;
      this.#start();
    }
    connectedCallback(): void {
      this.#start();
      this.#sizes.observe(this);
    }
    disconnectedCallback(): void {
      this.#sizes.disconnect();
      this.#inspector?.stop();
      this.#inspector = undefined;
    }
    #start(): void {
      this.#inspector?.stop();
      this.#inspector = undefined;
      if (!this.isConnected || !this.#outbox) return;
      this.#inspector = startInspector({
        realm: window,
        outbox: this.#outbox,
        root: this.#root,
        frame: this.#frame,
        status: this.#status,
        alert: this.#alert,
        words: this.#words,
        locale: this.closest<HTMLElement>('[lang]')?.lang || undefined,
        nameOf: this.#nameOf,
      });
    }
  };
}

/**
 * Registers the element, once; a second call does nothing. Importing alone registers nothing, so that a bundler may
 * leave it out.
 * @param name of the element
 */
export function defineInspector(name = 'holdfast-inspector'): void {
  if (!customElements.get(name)) customElements.define(name, createClass());
}
