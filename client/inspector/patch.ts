/**
 * Makes a tree what the data says, touching only what differs, so that focus, selection and what a screen reader has
 * read stay where they are. Listeners and attributes are set through the DOM: nothing here needs a policy's leave.
 */
import type { Child, Prop, Props, VNode } from './vnode.ts';

export interface Mount {
  readonly name: string;
  readonly child: VNode | string;
  readonly node: Node;
  readonly kids: readonly Mount[];
}

const SVG = 'http://www.w3.org/2000/svg';

const nameOf = (child: VNode | string, place: number): string =>
  typeof child === 'string' ? `#${place}` : `${child.tag} ${child.props.key ?? place}`;

/** @returns what stands in `parent` now, to be given back the next time */
export function patch(parent: Element, before: readonly Mount[], wanted: readonly Child[]): readonly Mount[] {
  const known = new Map(before.map((mount) => [mount.name, mount]));
  const names = new Set<string>();
  const next = wanted.flatMap((child, place) => {
    if (child === undefined || child === false) return [];
    let name = nameOf(child, place);
    // A key used twice: the second is told apart by its place.
    if (names.has(name)) name += ` ${place}`;
    names.add(name);
    const old = known.get(name);
    known.delete(name);
    return { name, child, old };
  });
  // First, so that what stays need not move: an element that is moved loses the focus.
  for (const { node } of known.values()) parent.removeChild(node);
  let cursor = parent.firstChild;
  return next.map(({ name, child, old }) => {
    const mount = typeof child === 'string' ? text(name, child, old) : element(parent, name, child, old);
    if (mount.node === cursor) cursor = cursor.nextSibling;
    else parent.insertBefore(mount.node, cursor);
    return mount;
  });
}

function text(name: string, child: string, old: Mount | undefined): Mount {
  const node = old?.node ?? document.createTextNode(child);
  if (node.nodeValue !== child) node.nodeValue = child;
  return { name, child, node, kids: [] };
}

function element(parent: Element, name: string, child: VNode, old: Mount | undefined): Mount {
  const { tag, props, children } = child;
  const isSvg = tag === 'svg' || (parent.namespaceURI === SVG && parent.tagName !== 'foreignObject');
  const node =
    old?.node instanceof Element
      ? old.node
      : isSvg
        ? document.createElementNS(SVG, tag)
        : document.createElement(tag);
  const before = typeof old?.child === 'object' ? old.child.props : {};
  const kids = patch(node, old?.kids ?? [], children);
  // After the children: a select has no value before its options.
  setProps(node, before, props);
  return { name, child, node, kids };
}

function setProps(node: Element, before: Props, props: Props): void {
  for (const name of Object.keys(before)) if (!(name in props)) setProp(node, name, undefined);
  for (const [name, value] of Object.entries(props)) if (value !== before[name]) setProp(node, name, value);
}

function setProp(node: Element, name: string, value: Prop): void {
  if (name === 'key') return;
  if (typeof value === 'function' || name.startsWith('on')) Object.assign(node, { [name]: value });
  else if (name === 'value') Object.assign(node, { value: value ?? '' });
  else if (value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? '' : String(value));
}
