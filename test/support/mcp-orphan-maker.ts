// A process with a pool that prints its server's process id and then ends without closing it: killed by the test, or by
// itself on any input. `node mcp-orphan-maker.ts [MODE [PID_FILE]]`: the server's mode, and where its own child's id goes.
import { fileURLToPath } from 'node:url';

import { createMcpPool } from '../../activities/mcp/pool.ts';

const [mode = 'plain', pidFile] = process.argv.slice(2);
const args = [fileURLToPath(new URL('./mcp-stdio-server.ts', import.meta.url)), mode];
const env: Record<string, string> = pidFile === undefined ? {} : { PID_FILE: pidFile };
const servers = { a: { type: 'stdio', command: process.execPath, args, env } } as const;
const pool = createMcpPool({ config: { source: 'mcp.json', servers }, log: () => {} });
const signal = AbortSignal.timeout(30_000);
const response = await pool.server('a').callTool({ tool: 'pid', arguments: {}, idempotencyKey: 'key', signal });
const [block] = response.content as readonly { readonly text: string }[];
console.log(block?.text);
process.stdin.once('data', () => process.exit(0));
