/** The inspector beside the outbox app's page, as an app's support page would hold it. */
import { defineInspector, type HoldfastInspector } from '../../client/inspector/index.ts';
import { createManyRows, type ManyRows } from './many-rows.ts';

export interface InspectorPage {
  /** Puts the inspector of the connected outbox on the page. */
  show(part?: Partial<Pick<HoldfastInspector, 'words' | 'nameOf'>>): void;
  /** The inspector of an outbox with so many rows. */
  showMany(count: number): ManyRows;
  /** What the policy of the page has complained of. */
  readonly violations: readonly string[];
}

declare global {
  var inspectorPage: InspectorPage;
}

const violations: string[] = [];
addEventListener('securitypolicyviolation', ({ violatedDirective, sourceFile }) => {
  violations.push(`${violatedDirective} ${sourceFile}`);
});

function put(inspector: HoldfastInspector): void {
  document.documentElement.lang = 'en';
  const main = document.createElement('main');
  main.append(inspector);
  document.body.replaceChildren(main);
}

globalThis.inspectorPage = {
  show(part = {}) {
    // Before the element is defined, as a framework may do it.
    const inspector = Object.assign(document.createElement('holdfast-inspector'), part);
    inspector.outbox = globalThis.outboxApp.outbox;
    defineInspector();
    put(inspector);
  },
  showMany(count) {
    defineInspector();
    const many = createManyRows(count);
    const inspector = document.createElement('holdfast-inspector');
    inspector.outbox = many.outbox;
    put(inspector);
    return many;
  },
  violations,
};
