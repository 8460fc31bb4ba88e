// A short outline of a JSON value: kinds, keys and lengths, a few levels deep. It is gathered while the value is scanned, so
// it needs memory for what it shows only.
import { escapeForDisplay, firstCharacters } from './preview.ts';
import type { JsonListener, ScalarKind } from './json-scan.ts';

/** How deep and how wide an outline is. */
interface Extent {
  readonly depth: number;
  readonly keys: number;
}

const MAX_DEPTH = 3;
const MAX_KEYS = 12;
const MAX_KEY_CHARACTERS = 40;
/** Tried in turn, until the outline is short enough. */
const EXTENTS: readonly Extent[] = [
  { depth: 3, keys: 12 },
  { depth: 3, keys: 8 },
  { depth: 2, keys: 12 },
  { depth: 2, keys: 6 },
  { depth: 1, keys: 12 },
  { depth: 1, keys: 6 },
  { depth: 1, keys: 3 },
  { depth: 0, keys: 0 },
];

interface Node {
  kind: ScalarKind | 'object' | 'array';
  /** Members or elements; bytes of a string. */
  size: number;
  readonly members: { readonly name: string; node: Node | undefined }[];
  /** Of an array: its first element, and the kinds of all. */
  element: Node | undefined;
  readonly kinds: Set<string>;
}

/** Listens to a scan and gives the outline afterwards, of a broken or cut value too. */
export class OutlineListener implements JsonListener {
  private readonly bytes: Uint8Array;
  private root: Node | undefined;
  /** The open containers that are shown; deeper ones are only counted. */
  private readonly shown: Node[] = [];
  private hiddenDepth = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  open(kind: 'object' | 'array'): void {
    const node = this.add(kind, 0);
    if (node && this.shown.length <= MAX_DEPTH) this.shown.push(node);
    else this.hiddenDepth++;
  }

  close(): void {
    if (this.hiddenDepth > 0) this.hiddenDepth--;
    else this.shown.pop();
  }

  key(from: number, to: number): void {
    const parent = this.shown.at(-1);
    if (this.hiddenDepth > 0 || !parent) return;
    parent.size++;
    if (parent.members.length < MAX_KEYS) parent.members.push({ name: this.nameAt(from, to), node: undefined });
  }

  scalar(kind: ScalarKind, from: number, to: number): void {
    this.add(kind, to - from - 2);
  }

  /** The outline, at most `characters` long. */
  outline(characters: number): string {
    if (!this.root) return 'nothing';
    for (const extent of EXTENTS) {
      const text = render(this.root, extent);
      if (text.length <= characters) return text;
    }
    return this.root.kind;
  }

  /** Attaches a value to what it stands in; null when nobody will see it. */
  private add(kind: Node['kind'], size: number): Node | null {
    if (this.hiddenDepth > 0) return null;
    const parent = this.shown.at(-1);
    if (parent?.kind === 'array') {
      parent.size++;
      parent.kinds.add(kind);
      if (parent.element) return null;
      parent.element = newNode(kind, size);
      return parent.element;
    }
    if (!parent) {
      this.root ??= newNode(kind, size);
      return this.root;
    }
    const member = parent.members.at(-1);
    if (!member || parent.size > parent.members.length || member.node) return null;
    member.node = newNode(kind, size);
    return member.node;
  }

  private nameAt(from: number, to: number): string {
    const raw = new TextDecoder().decode(this.bytes.subarray(from, Math.min(to, from + 1000)));
    const name = to - from > 1000 ? raw.slice(1) : (JSON.parse(raw) as string); // a key is a string
    const shown = firstCharacters(name, MAX_KEY_CHARACTERS);
    const safe = escapeForDisplay(shown.length < name.length ? `${shown}…` : shown);
    return /^[\w$.@-]+…?$/.test(safe) ? safe : JSON.stringify(safe);
  }
}

function newNode(kind: Node['kind'], size: number): Node {
  return { kind, size, members: [], element: undefined, kinds: new Set() };
}

function render(node: Node, extent: Extent): string {
  if (node.kind === 'array') return renderArray(node, extent);
  if (node.kind === 'object') return renderObject(node, extent);
  return node.kind;
}

function renderObject(node: Node, extent: Extent): string {
  const count = `object(${node.size} ${node.size === 1 ? 'key' : 'keys'})`;
  if (extent.depth === 0 || node.members.length === 0) return count;
  const shown = node.members.slice(0, extent.keys);
  const inner = { ...extent, depth: extent.depth - 1 };
  const members = shown.map(({ name, node: value }) => `${name}: ${value ? render(value, inner) : '…'}`);
  if (shown.length === node.size) return `object{${members.join(', ')}}`;
  return `${count}{${[...members, '…'].join(', ')}}`;
}

function renderArray(node: Node, extent: Extent): string {
  const count = `array(${node.size})`;
  if (!node.element) return count;
  if (node.kinds.size > 1) return `${count} of ${[...node.kinds].sort().join(' | ')}`;
  if (extent.depth === 0) return `${count} of ${node.element.kind}`;
  return `${count} of ${render(node.element, { ...extent, depth: extent.depth - 1 })}`;
}
