// The tools of an MCP server for the systems that have no client of their own: listed once, when the first run asks for them.
// Plain JavaScript: its users' modules are installed in this folder only, out of the type checker's sight.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

let started;

/** All tools of the server, each with `call(args)`, which gives the text of the result. */
export function listTools({ command, args }) {
  started ??= list({ command, args });
  return started;
}

async function list({ command, args }) {
  const client = new Client({ name: 'side-by-side', version: '1' });
  // Kubernetes' list is one message of more than 10 MiB.
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore', maxBufferSize: 64 * 1024 * 1024 }));
  const { tools } = await client.listTools(undefined, { timeout: 300_000 });
  // EC2's list has two names twice, on which not every system goes on.
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return [...byName.values()].map(({ name, description = '', inputSchema }) => ({
    name,
    description,
    inputSchema,
    call: async (given) => {
      const { content } = await client.callTool({ name, arguments: given });
      return content.map((block) => block.text ?? '').join('\n');
    },
  }));
}

/** An outcome of `serveRuns`; nothing is kept here. */
export const DONE = { ended: 'completed', how: '', recordBytes: 0, events: 0, elsewhereBytes: 0 };
