// What the command line asks of the services around a Worker before one runs: MCP servers, and where the model is.
export type { LocalServer } from '../activities/mcp/local.ts';
export { createMcpPool } from '../activities/mcp/pool.ts';
export { DEFAULT_BASE_URL } from '../activities/model/openai.ts';
