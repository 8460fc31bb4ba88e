// Which secrets of a configuration are credentials: those are taken out of a model's arguments as well. A folder that a server
// is given as `${NAME}` is kept out of results and logs, but an argument without it would be another argument.
import type { McpConfig, McpServerConfig } from './mcp-config.ts';
import { secretsOf, type Environment } from './mcp-config-secrets.ts';

const SECRET_NAME = /key|token|secret|passw|credential|auth|signature/i;
const PATH = /^(~?\/|\.{1,2}\/|[A-Za-z]:[\\/])/;
/** Letters and digits, long, and no words between them. */
const TOKEN_LIKE = /^(?=.*\d)(?=.*[A-Za-z])\S{12,}$/;

/**
 * The secrets of `secretsOf` that are credentials: all of a server behind an address; of a program, values of `env` that come
 * from a variable, have a telling name or look like a token, and arguments that say what they are. Paths are none.
 */
export function credentialsOf(config: McpConfig, env: Environment): readonly string[] {
  const servers = Object.fromEntries(Object.entries(config.servers).map(([name, server]) => [name, narrowed(server)]));
  return secretsOf({ ...config, servers }, env).filter((secret) => !PATH.test(secret));
}

/** The server with nothing left that holds no credentials. */
function narrowed(server: McpServerConfig): McpServerConfig {
  if (server.type !== 'stdio') return server;
  const args = server.args.filter((arg, index) => SECRET_NAME.test(arg) || tellsSecret(server.args[index - 1]));
  const env = Object.entries(server.env).filter(
    ([name, value]) => SECRET_NAME.test(name) || value.includes('${') || TOKEN_LIKE.test(value),
  );
  return { type: 'stdio', command: '', args, env: Object.fromEntries(env) };
}

function tellsSecret(flag: string | undefined): boolean {
  return flag !== undefined && flag.startsWith('-') && SECRET_NAME.test(flag);
}
