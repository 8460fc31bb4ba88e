// The names of tools towards the model: `server__tool` wherever a provider takes that, else a shortened form with a hash.
// A name depends on its own server and tool alone, so that other tools come and go without changing it.
import { labelOf } from './call-key.ts';
import { sha256Hex } from './digest.ts';

/** The longest name that providers take. Source: the OpenAI form of tools. */
const MAX_EXPOSED_NAME = 64;

const SEPARATOR = '__';
const HASH_DIGITS = 12;
const SERVER_CHARACTERS = 20;

/** A tool by the names of its server and its own. */
export interface ToolName {
  readonly server: string;
  readonly tool: string;
}

/**
 * The name of one tool towards the model: 1 to 64 of `[A-Za-z0-9_-]`.
 * `server__tool` where both names are made of these characters, the whole is short enough, and the first `__` in it
 * separates the two; then no other pair has that name. All others end in 12 digits of a hash of both, and hold no `__`.
 */
export function exposedNameOf({ server, tool }: ToolName): string {
  const plain = `${server}${SEPARATOR}${tool}`;
  return isPlain(server, tool, plain) ? plain : hashedName(server, tool);
}

/** The names of many tools, in the order given; each is found again by its place. */
export function exposeNames(tools: readonly ToolName[]): readonly string[] {
  return tools.map((tool) => exposedNameOf(tool));
}

function isPlain(server: string, tool: string, plain: string): boolean {
  if (!/^[A-Za-z0-9_-]+$/.test(server) || !/^[A-Za-z0-9_-]+$/.test(tool)) return false;
  return plain.length <= MAX_EXPOSED_NAME && plain.indexOf(SEPARATOR) === server.length;
}

function hashedName(server: string, tool: string): string {
  const hash = sha256Hex(JSON.stringify([server, tool])).slice(0, HASH_DIGITS);
  const head = `${labelOf(server).slice(0, SERVER_CHARACTERS)}_${labelOf(tool)}`.replace(/_{2,}/g, '_');
  return `${head.slice(0, MAX_EXPOSED_NAME - HASH_DIGITS - 1).replace(/[_-]+$/, '')}_${hash}`;
}
