// The client of the conformance suite: a pool with the suite's server, whose tools are listed and called. It says yes to what
// a server asks, with no member of its own, so that the defaults of the form are seen. The suite gives the address as the
// last argument and the scenario in `MCP_CONFORMANCE_SCENARIO`.
import { createMcpPool } from '../../activities/mcp/pool.ts';
import type { JsonObject } from '../../shared/json.ts';

const url = process.argv.at(-1) ?? '';
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';

const ARGUMENTS: Readonly<Record<string, JsonObject>> = { add_numbers: { a: 5, b: 3 } };

const pool = createMcpPool({
  config: { source: 'the conformance suite', servers: { suite: { type: 'http', url, headers: {} } } },
  log: (entry) => console.error(entry.message),
  answerElicitation: () => Promise.resolve({ action: 'accept', content: {} }),
});
const server = pool.server('suite');
try {
  const { tools } = await server.listTools(AbortSignal.timeout(10_000));
  for (const tool of scenario === 'initialize' ? [] : tools) {
    const signal = AbortSignal.timeout(10_000);
    const args = ARGUMENTS[tool.name] ?? {};
    const response = await server.callTool({ tool: tool.name, arguments: args, idempotencyKey: 'key', signal });
    console.log(JSON.stringify(response));
  }
} finally {
  await pool.close();
}
