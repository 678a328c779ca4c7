/** What shall stand in the tree, as plain data: views are pure functions that answer it, and patch.ts makes it so. */

/** `undefined` and `false` are no attribute; a function is a listener, named as the property (`onclick`). */
export type Prop = string | number | boolean | undefined | ((event: Event) => void);

export interface Props {
  /** Tells siblings apart where their number or order changes. */
  readonly key?: string | undefined;
  readonly [name: string]: Prop;
}

export interface VNode {
  readonly tag: string;
  readonly props: Props;
  readonly children: readonly Child[];
}

/** What is false or absent keeps its place, so that what comes after it stays what it was. */
export type Child = VNode | string | false | undefined;
export type Children = Child | readonly Child[];

export function h(tag: string, props: Props = {}, ...children: readonly Children[]): VNode {
  return { tag, props, children: children.flat() };
}
