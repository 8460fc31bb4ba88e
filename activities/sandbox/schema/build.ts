// Builds a schema from the tokens of a streaming JSON parser; holds no value longer than it takes to look at it.
import type { Token } from 'stream-json/core/parser.js';
import {
  addArrayLength,
  addNumber,
  addObject,
  addString,
  arraysOf,
  emptyNode,
  memberNode,
  type ArraySummary,
  type ObjectSummary,
  type SchemaNode,
} from './node.ts';

type Frame =
  | { readonly type: 'object'; readonly objects: ObjectSummary; key: string }
  | { readonly type: 'array'; readonly arrays: ArraySummary; length: number };

const DEPTH_LOOKED_AT = 64;
const NODES_KEPT = 20_000;
const HEAD_CHARACTERS = 200;

/** Takes tokens (keys, strings and numbers in pieces) and keeps what they say about the document's shape. */
export class SchemaBuilder {
  /** What stands at the root; of several values, all of them. */
  readonly root: SchemaNode = emptyNode();
  /** Whole values at the root. */
  values = 0;
  readonly #frames: Frame[] = [];
  #unseenDepth = 0;
  #nodes = 0;
  #head = '';
  #length = 0;

  add(token: Token): void {
    const { name } = token;
    if (name === 'startObject') this.#startObject();
    else if (name === 'startArray') this.#startArray();
    else if (name === 'endObject' || name === 'endArray') this.#end();
    else if (name === 'startKey' || name === 'startString' || name === 'startNumber') this.#startText();
    else if (name === 'stringChunk' || name === 'numberChunk') this.#addToText(token.value);
    else if (name === 'endKey') this.#key(this.#head);
    else if (name === 'endString') this.#scalar((node) => addString(node, this.#head, this.#length));
    else if (name === 'endNumber') this.#scalar((node) => addNumber(node, Number(this.#head)));
    else if (name === 'trueValue') this.#scalar((node) => void (node.trues += 1));
    else if (name === 'falseValue') this.#scalar((node) => void (node.falses += 1));
    else if (name === 'nullValue') this.#scalar((node) => void (node.nulls += 1));
  }

  /** Notes the lengths of arrays that the document left open. */
  finish(): void {
    for (const frame of this.#frames) if (frame.type === 'array') addArrayLength(frame.arrays, frame.length);
  }

  #key(key: string): void {
    const frame = this.#frames.at(-1);
    if (frame?.type === 'object' && this.#unseenDepth === 0) frame.key = key;
  }

  #startText(): void {
    this.#head = '';
    this.#length = 0;
  }

  #addToText(chunk: string): void {
    if (this.#head.length < HEAD_CHARACTERS) this.#head += chunk.slice(0, HEAD_CHARACTERS - this.#head.length);
    this.#length += chunk.length;
  }

  #scalar(add: (node: SchemaNode) => void): void {
    if (this.#unseenDepth > 0) return;
    add(this.#place());
    if (this.#frames.length === 0) this.values += 1;
  }

  #startObject(): void {
    const node = this.#open();
    if (node) this.#frames.push({ type: 'object', objects: addObject(node), key: '' });
  }

  #startArray(): void {
    const node = this.#open();
    if (node) this.#frames.push({ type: 'array', arrays: arraysOf(node), length: 0 });
  }

  // The place of a container, or null where it lies too deep to be looked at.
  #open(): SchemaNode | null {
    if (this.#unseenDepth === 0 && this.#frames.length < DEPTH_LOOKED_AT) return this.#place();
    if (this.#unseenDepth === 0) this.#place().deeper += 1;
    this.#unseenDepth += 1;
    return null;
  }

  #end(): void {
    if (this.#unseenDepth > 0) {
      this.#unseenDepth -= 1;
      return;
    }
    const frame = this.#frames.pop();
    if (frame?.type === 'array') addArrayLength(frame.arrays, frame.length);
    if (this.#frames.length === 0) this.values += 1;
  }

  #place(): SchemaNode {
    const node = this.#find();
    if (node.seen === 0) this.#nodes += 1;
    node.seen += 1;
    return node;
  }

  #find(): SchemaNode {
    const frame = this.#frames.at(-1);
    if (!frame) return this.root;
    if (frame.type === 'object') return memberNode(frame.objects, frame.key, this.#nodes < NODES_KEPT);
    frame.length += 1;
    return frame.arrays.items;
  }
}
