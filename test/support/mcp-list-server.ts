// A small stdio MCP server whose tools are what the JSON file in `TOOLS_FILE` says at the moment: `{instructions?, tools}`. It
// writes what it was asked to the file in `RECORD_FILE`. The tool `notify` says that the list has changed, `quit` ends it.
import { appendFileSync, readFileSync } from 'node:fs';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js';

interface Listed {
  readonly instructions?: string;
  readonly tools: Tool[];
}

function listed(): Listed {
  // The tests write it.
  return JSON.parse(readFileSync(process.env['TOOLS_FILE'] ?? '', 'utf8')) as Listed;
}

function record(text: string): void {
  const file = process.env['RECORD_FILE'];
  if (file !== undefined) appendFileSync(file, `${text}\n`);
}

const { instructions } = listed();
const server = new Server(
  { name: 'list', version: '1' },
  { capabilities: { tools: { listChanged: true } }, ...(instructions !== undefined && { instructions }) },
);

server.setRequestHandler(ListToolsRequestSchema, () => {
  record('listed');
  return { tools: listed().tools };
});

server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  record(`called ${params.name}`);
  if (params.name === 'notify') await server.sendToolListChanged();
  if (params.name === 'quit') setTimeout(() => process.exit(0), 10);
  return { content: [{ type: 'text', text: `${params.name} ${JSON.stringify(params.arguments ?? {})}` }] };
});

record('started');
await server.connect(new StdioServerTransport());
