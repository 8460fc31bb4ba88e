// A call whose tool was found, or was not: what policy needs to know of it, and its arguments checked.
import { validateArguments } from '../model/tool-calls.ts';
import type { ProposedCall } from '../../shared/activities.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { CallCatalogs } from './catalogs.ts';
import { badArguments, badInput, cutName, type Fault } from './faults.ts';

/** A call with what policy needs to know. */
export interface Judged extends Pick<
  ProposedCall,
  'server' | 'tool' | 'arguments' | 'schemaHash' | 'tags' | 'effect' | 'via' | 'unresolved'
> {
  readonly fault?: Fault;
}

/** With what the model wrote. */
export interface JudgedCall {
  readonly judged: Judged;
  /** What it wrote where that was no JSON object. */
  readonly raw?: string;
  /** Its arguments, where those of the call are others. */
  readonly wrapper?: JsonObject;
}

type ToolFacts = Pick<ProposedCall, 'server' | 'tool' | 'schemaHash' | 'tags' | 'effect'>;

/** What is known of a call by its tool. */
export function factsOf({ server, tool, schemaHash, tags, effect }: CatalogTool): ToolFacts {
  return { server, tool, schemaHash, tags, effect };
}

/** What is known of a call whose tool is not: it counts as a write. */
export function noFacts(server: string, tool: string): ToolFacts {
  return { server, tool: cutName(tool), schemaHash: '', tags: [], effect: 'write' };
}

/** Checks arguments against a tool that was found. */
export function judgeTool(tool: CatalogTool, input: JsonObject, catalogs: Pick<CallCatalogs, 'frame'>): Judged {
  const judged = { ...factsOf(tool), arguments: input };
  const problem = validateArguments(tool.inputSchema, input);
  return problem === null ? judged : { ...judged, fault: unfit(tool, problem, catalogs) };
}

/** A tool of the array has its schema there; another's may be large. */
export function unfit(tool: CatalogTool, problem: string, { frame }: Pick<CallCatalogs, 'frame'>): Fault {
  const isShown = frame.tools.some(({ exposedName }) => exposedName === tool.exposedName);
  return isShown ? badArguments(tool, problem) : badInput(tool, problem);
}
