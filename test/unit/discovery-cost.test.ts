// What Longshore itself adds to every request of a default agent: definitions of its own tools, and its part of the system message.
import { describe, expect, it } from 'vitest';
import { callToolArguments, discoveryListing } from '../../activities/discovery/arguments.ts';
import { countTokensSync } from '../../activities/measure.ts';
import { sandboxListing } from '../../activities/sandbox/server.ts';
import { systemText } from '../../activities/system-text.ts';
import { ASK_USER_QUESTION_TOOL } from '../../shared/ask-user.ts';
import { DISCOVERY_INSTRUCTIONS, DISCOVERY_TOOLS } from '../../shared/discovery-tools.ts';
import { exposedNameOf } from '../../shared/exposed-names.ts';
import { tagsOf } from '../../shared/policy.ts';
import type { ToolDefinition } from '../../shared/tool-server.ts';

const frame = {
  agent: 'a',
  model: { name: 'openai/x', params: {} },
  instructions: '',
  responseFormat: { type: 'text' },
  catalog: { sha256: '', bytes: 0 },
} as const;

function sent(name: string, { description = '', inputSchema }: ToolDefinition): string {
  return JSON.stringify({ name, description, parameters: inputSchema });
}

describe('the definitions of the discovery tools', () => {
  const { tools } = discoveryListing();

  it('[DISC-7] have the names and arguments that agents know', () => {
    expect(tools.map(({ name }) => name)).toEqual(DISCOVERY_TOOLS);
    const argumentsOf = tools.map(({ inputSchema }) => [
      Object.keys(inputSchema['properties'] as object),
      inputSchema['required'],
    ]);
    expect(argumentsOf).toEqual([
      [['query', 'mcp_server', 'limit'], ['query']],
      [['mcp_server', 'cursor'], ['mcp_server']],
      [
        ['mcp_server', 'tool_name', 'pointer'],
        ['mcp_server', 'tool_name'],
      ],
      [
        ['mcp_server', 'tool_name', 'pointer'],
        ['mcp_server', 'tool_name'],
      ],
      [
        ['mcp_server', 'tool_name', 'input'],
        ['mcp_server', 'tool_name'],
      ],
    ]);
    expect(callToolArguments.parse({ mcp_server: 'a', tool_name: 'b' })).toEqual({
      mcp_server: 'a',
      tool_name: 'b',
      input: {},
    });
  });

  it('[DISC-7] call themselves read-only, but for call_tool, whose tool has tags of its own', () => {
    expect(tools.map(({ annotations }) => tagsOf(annotations)[0])).toEqual([
      ...Array.from({ length: 4 }, () => '@read-only'),
      '@write',
    ]);
  });

  it('[DISC-8] leave a default agent below 1,200 tokens of prompts and definitions a request', () => {
    const sandbox = sandboxListing().tools.map((tool) =>
      sent(exposedNameOf({ server: 'sandbox', tool: tool.name }), tool),
    );
    const question = sent(ASK_USER_QUESTION_TOOL.name, ASK_USER_QUESTION_TOOL);
    const discovery = tools.map((tool) => sent(tool.name, tool));
    const system = systemText(frame, { version: 1, servers: [], tools: [] });
    const parts = [...sandbox, question, ...discovery, system, DISCOVERY_INSTRUCTIONS];
    const tokens = parts.map(countTokensSync);
    expect(tokens.slice(7, 12).reduce((sum, count) => sum + count)).toBeLessThan(320);
    expect(tokens.reduce((sum, count) => sum + count + 1, 0)).toBeLessThan(1_200);
  });
});
