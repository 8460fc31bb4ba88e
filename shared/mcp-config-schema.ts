// Checks a configuration of MCP servers in the form that MCP clients share. Keys that only other clients use are passed
// over with a note; a key that nobody knows is a fault.
import { z } from 'zod';
import { isObject } from './json.ts';
import type { McpConfig, McpServerConfig } from './mcp-config.ts';
import { BUILT_IN_SERVERS } from './sandbox-tools.ts';
import { formatPath, type SpecFault, type SpecNote } from './spec-fault.ts';
import { checkForm, someText, textThat, wholeNumber } from './spec-form.ts';

export { expandVariables, secretsOf, type Environment } from './mcp-config-secrets.ts';
export { redact, REDACTED } from './secret-redaction.ts';

/** The configuration, or all that is wrong with it. */
export type McpConfigCheck =
  | { readonly config: McpConfig; readonly notes: readonly SpecNote[] }
  | { readonly faults: readonly SpecFault[] };

// Keys of other clients: what they say is theirs alone, and a file shared with them must load.
const FOREIGN_KEYS = new Set(
  'disabled autoApprove alwaysAllow disabledTools timeout transportType icon gallery version note trust'.split(' '),
);

const flag = z.boolean();
const texts = z.record(z.string(), z.string(), { error: 'an object with a text for each key' });

const annotations = z.strictObject({
  title: z.string().optional(),
  readOnlyHint: flag.optional(),
  destructiveHint: flag.optional(),
  idempotentHint: flag.optional(),
  openWorldHint: flag.optional(),
});

const common = {
  description: z.string().optional(),
  timeoutMs: wholeNumber(1, 86_400_000).optional(),
  maxMessageBytes: wholeNumber(1024, 2_000_000_000).optional(),
  annotations: z.record(someText(), annotations).optional(),
  honoursIdempotencyKeys: flag.optional(),
};

const stdioServer = z.strictObject({
  type: z.literal('stdio').optional(),
  command: someText(),
  args: z.array(z.string()).optional(),
  env: texts.optional(),
  cwd: someText().optional(),
  ...common,
});

const HTTP_TYPES = ['http', 'streamable-http', 'streamableHttp'] as const;

const httpServer = z.strictObject({
  type: z.enum(HTTP_TYPES).optional(),
  url: textThat(
    (url) => /^(https?:\/\/\S|\$\{)/i.test(url) && !/\s/.test(url),
    'an address that starts with http:// or https://',
    'Write the whole address of the server, as in http://127.0.0.1:9100/mcp.',
  ),
  headers: texts.optional(),
  ...common,
});

const file = z.strictObject({
  mcpServers: z.record(z.string(), z.unknown(), { error: 'an object with a server for each name' }),
});

/** Checks a configuration; never throws. `source` is the file it came from, for messages. */
export function checkMcpConfig(value: unknown, source: string): McpConfigCheck {
  const form = checkForm(file, value);
  if ('faults' in form) return form;
  const checks = Object.entries(form.data.mcpServers).map(([name, server]) => ({ name, ...checkServer(name, server) }));
  const faults = checks.flatMap((check) => check.faults);
  if (faults.length > 0) return { faults };
  const servers = Object.fromEntries(checks.flatMap(({ name, server }) => (server ? [[name, server] as const] : [])));
  return { config: { source, servers }, notes: checks.flatMap((check) => check.notes) };
}

interface ServerCheck {
  readonly faults: readonly SpecFault[];
  readonly notes: readonly SpecNote[];
  /** Absent where it is faulty or disabled. */
  readonly server?: McpServerConfig;
}

function checkServer(name: string, value: unknown): ServerCheck {
  const at = ['mcpServers', name];
  const misuse = nameFault(name, at) ?? typeFault(value, at);
  if (misuse) return { faults: [misuse], notes: [] };
  const entries = isObject(value) ? Object.entries(value) : [];
  const foreign = entries.filter(([key]) => FOREIGN_KEYS.has(key));
  const own = isObject(value) ? Object.fromEntries(entries.filter(([key]) => !FOREIGN_KEYS.has(key))) : value;
  const notes = foreign.map(([key]) => foreignNote([...at, key], key));
  if (isObject(value) && value['disabled'] === true) return { faults: [], notes: [disabledNote(at, name)] };
  const form = isObject(own) && 'url' in own ? httpForm(own, at) : stdioForm(own, at);
  return 'faults' in form ? { faults: form.faults, notes: [] } : { faults: [], notes, server: form.data };
}

function stdioForm(
  value: unknown,
  at: readonly string[],
): { readonly data: McpServerConfig } | { readonly faults: readonly SpecFault[] } {
  const form = checkForm(stdioServer, value, at);
  if ('faults' in form) return form;
  const { args = [], env = {}, ...rest } = form.data;
  // Absent keys stay absent: the copy drops what the schema types as possibly undefined.
  return { data: withoutUndefined({ ...rest, type: 'stdio', args, env }) as McpServerConfig };
}

function httpForm(
  value: unknown,
  at: readonly string[],
): { readonly data: McpServerConfig } | { readonly faults: readonly SpecFault[] } {
  const form = checkForm(httpServer, value, at);
  if ('faults' in form) return form;
  const { headers = {}, ...rest } = form.data;
  // As above.
  return { data: withoutUndefined({ ...rest, type: 'http', headers }) as McpServerConfig };
}

function withoutUndefined(value: object): unknown {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

function nameFault(name: string, at: readonly string[]): SpecFault | null {
  const path = formatPath(at);
  if (name.trim() === '')
    return { path, message: 'a server has a blank name', mend: 'Give it the name that specs use.' };
  if (!BUILT_IN_SERVERS.includes(name)) return null;
  return { path, message: `\`${name}\` is the name of a built-in server`, mend: 'Give the server another name.' };
}

function typeFault(value: unknown, at: readonly string[]): SpecFault | null {
  const path = formatPath([...at, 'type']);
  if (!isObject(value)) return null;
  const { type } = value;
  if (type === 'sse') {
    const mend = 'Use the server\'s Streamable HTTP address with `type: "http"`, or run it over stdio with `command`.';
    return { path, message: 'the transport `sse` is deprecated in MCP and not built here', mend };
  }
  if ('url' in value && 'command' in value) {
    return {
      path: formatPath(at),
      message: 'both `command` and `url` are given',
      mend: 'Keep `command` for a process, or `url` for HTTP.',
    };
  }
  if (!('url' in value) && !('command' in value)) {
    return {
      path: formatPath(at),
      message: 'neither `command` nor `url` is given',
      mend: 'Give `command` for a process, or `url` for HTTP.',
    };
  }
  return null;
}

function foreignNote(path: readonly string[], key: string): SpecNote {
  const hint = key === 'timeout' ? '; the deadline of a call is `timeoutMs`' : '';
  return { path: formatPath(path), message: `\`${key}\` is a setting of other clients and passed over${hint}.` };
}

function disabledNote(at: readonly string[], name: string): SpecNote {
  return { path: formatPath([...at, 'disabled']), message: `Server \`${name}\` is disabled and left out.` };
}
