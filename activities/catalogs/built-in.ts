// What the built-in servers contribute to a turn's tool array.
import { discoveryListing } from '../discovery/arguments.ts';
import { sandboxListing } from '../sandbox/server.ts';
import { ASK_USER_QUESTION_TOOL } from '../../shared/ask-user.ts';
import { DISCOVERY_SERVER } from '../../shared/discovery-tools.ts';
import { DEFAULT_TOOL_TIMEOUT_MS } from '../../shared/mcp-config.ts';
import { PEOPLE_SERVER, SANDBOX_SERVER } from '../../shared/sandbox-tools.ts';
import { select, type Offer } from './ask-server.ts';

/** The agent's own files. */
export function sandboxOffer(): Offer {
  const tools = sandboxListing().tools.map((tool) => select(SANDBOX_SERVER, tool, { detailed: false }));
  const server = { name: SANDBOX_SERVER, toolCount: tools.length, timeoutMs: DEFAULT_TOOL_TIMEOUT_MS, problems: [] };
  return { server, tools };
}

/** The question to a person. */
export function questionOffer(): Offer {
  return { tools: [select(PEOPLE_SERVER, ASK_USER_QUESTION_TOOL, { detailed: false })] };
}

/** The tools by which others are found. The model is told of them in words of their own, not as of a server. */
export function discoveryOffer(): Offer {
  return { tools: discoveryListing().tools.map((tool) => select(DISCOVERY_SERVER, tool, { detailed: false })) };
}
