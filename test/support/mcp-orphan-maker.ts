// A process with a pool that prints its server's process id and then ends without closing it: killed by the test, or by
// itself on any input.
import { fileURLToPath } from 'node:url';

import { createMcpPool } from '../../activities/mcp/pool.ts';

const args = [fileURLToPath(new URL('./mcp-stdio-server.ts', import.meta.url)), 'plain'];
const servers = { a: { type: 'stdio', command: process.execPath, args, env: {} } } as const;
const pool = createMcpPool({ config: { source: 'mcp.json', servers }, log: () => {} });
const signal = AbortSignal.timeout(30_000);
const response = await pool.server('a').callTool({ tool: 'pid', arguments: {}, idempotencyKey: 'key', signal });
const [block] = response.content as readonly { readonly text: string }[];
console.log(block?.text);
process.stdin.once('data', () => process.exit(0));
