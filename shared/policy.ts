// What a spec lets an agent do: which tools it gets, which of their calls are gated. Pure functions of the spec and of a
// tool's tags, so that a replay decides the same.
import type { SpecServer } from './agent-spec.ts';
import type { ToolEffect, ToolTag } from './catalog.ts';
import { BUILT_IN_SERVERS } from './sandbox-tools.ts';

/** The hints of MCP's annotations that decide; `ToolAnnotations` has them. */
export interface ToolHints {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
}

/**
 * Tags from MCP's annotations: `@read-only` where readOnlyHint is true, `@destructive` where destructiveHint is true,
 * `@write` where neither is. A tool without annotations is a write. Source: parity page of the reference.
 */
export function tagsOf(annotations?: ToolHints): readonly ToolTag[] {
  const tags: ToolTag[] = [];
  if (annotations?.readOnlyHint === true) tags.push('@read-only');
  if (annotations?.destructiveHint === true) tags.push('@destructive');
  return tags.length === 0 ? ['@write'] : tags;
}

/**
 * What a call may do, which decides what may be sent again: `read` for a tool that only reads, `idempotent` where it says
 * so or its server honours idempotency keys, else `write`. A tool that calls itself both read-only and destructive is
 * taken as a write. Source: architecture D11.
 */
export function effectOf(annotations: ToolHints | undefined, honoursKeys: boolean | undefined): ToolEffect {
  if (annotations?.readOnlyHint === true && annotations.destructiveHint !== true) return 'read';
  return annotations?.idempotentHint === true || honoursKeys === true ? 'idempotent' : 'write';
}

/** Whether one of the selectors takes a tool: `@all`, one of its tags, or its name. */
export function selects(selectors: readonly string[], tool: string, tags: readonly ToolTag[]): boolean {
  return selectorFor(selectors, tool, tags) !== undefined;
}

/** Whether the agent gets a tool: enabled and not disabled; what disables wins. */
export function isEnabled(server: SpecServer, tool: string, tags: readonly ToolTag[]): boolean {
  return selects(server.enable_tools, tool, tags) && !selects(server.disable_tools, tool, tags);
}

/** Whether a call waits for a person, and by which selector. */
export interface Gate {
  readonly gated: boolean;
  readonly selector?: string;
}

/**
 * Judges one call. The built-in servers are never gated: `sandbox` touches the agent's own files only, `longshore` only asks.
 * A server that the spec does not name is gated whole, by `@all`.
 */
export function needsApproval(
  server: SpecServer | undefined,
  serverName: string,
  tool: string,
  tags: readonly ToolTag[],
): Gate {
  if (BUILT_IN_SERVERS.includes(serverName)) return { gated: false };
  if (!server) return { gated: true, selector: '@all' };
  const selector = selectorFor(server.require_approval_for_tools, tool, tags);
  return selector === undefined ? { gated: false } : { gated: true, selector };
}

/** A call that was not made because it is gated. */
export interface DeniedCall {
  readonly server: string;
  readonly tool: string;
  /** The selector that gates it. */
  readonly selector: string;
  readonly tags: readonly ToolTag[];
}

/** What the model reads in place of a gated call's result. */
export function deniedText({ server, tool, selector, tags }: DeniedCall): string {
  const reason = selector === tool ? 'by its name' : `by ${selector}`;
  return (
    `Denied: the call of \`${tool}\` on server \`${server}\` was not made, and nothing was changed. ` +
    `The agent spec gates this tool ${reason} under require_approval_for_tools (its tags: ${tags.join(', ')}), and approvals are not ` +
    'answered in this version. Calling it again gives the same answer: go on without it, or say what you would have done. ' +
    `Whoever runs the agent can allow it: in the spec's mcp_servers entry \`${server}\`, set require_approval_for_tools to [], ` +
    'or to a list that does not take this tool.'
  );
}

/** A name in a spec that its server does not offer. */
export interface UnknownName {
  readonly name: string;
  /** Below the server's entry, as in `enable_tools.0`. */
  readonly path: string;
}

/** Literal names of tools in a server's entry, those under `tool_settings` included, that the server does not offer. */
export function unknownSelectorNames(server: SpecServer, offered: readonly string[]): readonly UnknownName[] {
  const known = new Set(offered);
  const lists = {
    enable_tools: server.enable_tools,
    disable_tools: server.disable_tools,
    preload_tools: server.preload_tools,
    require_approval_for_tools: server.require_approval_for_tools,
  };
  const named = Object.entries(lists).flatMap(([key, selectors]) =>
    selectors.map((name, index) => ({ name, path: `${key}.${index}` })).filter(({ name }) => !name.startsWith('@')),
  );
  const settings = Object.keys(server.tool_settings).map((name) => ({ name, path: `tool_settings.${name}` }));
  return [...named, ...settings].filter(({ name }) => !known.has(name));
}

function selectorFor(selectors: readonly string[], tool: string, tags: readonly ToolTag[]): string | undefined {
  const taken: readonly string[] = ['@all', tool, ...tags];
  return selectors.find((selector) => taken.includes(selector));
}
