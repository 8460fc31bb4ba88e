// `${NAME}` in a configuration, and what of it is secret: found before anything is logged or recorded, and taken out of
// texts by `secret-redaction.ts`. Source: architecture D15.
import type { McpConfig, McpServerConfig } from './mcp-config.ts';

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Shorter values are no secrets, and taking them out would spoil texts. */
const MIN_SECRET_CHARACTERS = 6;

/** Shorter lines of a text are no part of a key. */
const SHORTEST_KEY_LINE = 32;

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;
const SECRET_KEY = /key|token|secret|passw|credential|auth|signature/i;
const PLAIN_HEADERS =
  /^(accept(-.*)?|content-type|user-agent|cache-control|connection|host|origin|mcp-protocol-version)$/i;
const COMMON_WORDS = new Set(
  (
    'false disabled enabled default localhost 127.0.0.1 production development staging testing warning verbose ' +
    'utf-8 en_US.UTF-8 C.UTF-8 /bin/sh /bin/bash'
  )
    .split(' ')
    .map((word) => word.toLowerCase()),
);

/** A text with its variables filled in, or the names of those that are not set. */
export type Expansion = { readonly text: string } | { readonly missing: readonly string[] };

/** Fills in `${NAME}` and `${NAME:-default}`; an empty variable counts as set, except before a default. */
export function expandVariables(text: string, env: Environment): Expansion {
  const missing = new Set<string>();
  const expanded = text.replace(VARIABLE, (_whole, name: string, fallback: string | undefined) => {
    const value = valueOf(name, env);
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) missing.add(name);
    return value ?? '';
  });
  return missing.size === 0 ? { text: expanded } : { missing: [...missing] };
}

/**
 * Every value of a configuration that must not be seen: what `${NAME}` stands for anywhere, header values and the tokens
 * in them, values of a server's `env`, passwords in addresses, arguments and query values whose key says that they are
 * secret. Values under six characters and everyday words are left out. Longest first.
 */
export function secretsOf(config: McpConfig, env: Environment): readonly string[] {
  const values = Object.values(config.servers).flatMap((server) => serverSecrets(server, env));
  const secrets = values.flatMap((value) => [
    value,
    value.trim(),
    JSON.stringify(value).slice(1, -1),
    ...longLines(value),
  ]);
  return [...new Set(secrets)]
    .filter((secret) => isSecret(secret))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** Of a key in several lines: a log shows them one by one. */
function longLines(value: string): readonly string[] {
  const lines = value.split('\n').map((line) => line.trim());
  return lines.length > 1 ? lines.filter((line) => line.length >= SHORTEST_KEY_LINE) : [];
}

function serverSecrets(server: McpServerConfig, env: Environment): readonly string[] {
  const expand = (text: string): string => {
    const expansion = expandVariables(text, env);
    return 'text' in expansion ? expansion.text : '';
  };
  if (server.type === 'stdio') {
    const texts = [server.command, ...server.args, ...Object.values(server.env), server.cwd ?? ''];
    const args = server.args.map((arg) => expand(arg));
    return [...variableValues(texts, env), ...Object.values(server.env).map(expand), ...argumentSecrets(args)];
  }
  const headers = Object.entries(server.headers).filter(([name]) => !PLAIN_HEADERS.test(name));
  return [
    ...variableValues([server.url, ...Object.values(server.headers)], env),
    ...headers.flatMap(([, value]) => headerSecrets(expand(value))),
    ...addressSecrets(expand(server.url)),
  ];
}

function variableValues(texts: readonly string[], env: Environment): readonly string[] {
  return texts.flatMap((text) =>
    [...text.matchAll(VARIABLE)].map((match) => valueOf(match[1] ?? '', env) ?? match[2] ?? ''),
  );
}

/** Names such as `constructor` are on every object, and are no variables. */
function valueOf(name: string, env: Environment): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}

/** `Bearer TOKEN`: the whole, and the token alone. */
function headerSecrets(value: string): readonly string[] {
  return [value, value.replace(/^(bearer|basic|token|apikey)\s+/i, '')];
}

/** `--token VALUE` and `--token=VALUE`. */
function argumentSecrets(args: readonly string[]): readonly string[] {
  return args.flatMap((arg, index) => {
    const [flag = '', ...rest] = arg.split('=');
    if (!flag.startsWith('-') || !SECRET_KEY.test(flag)) return [];
    return rest.length > 0 ? [rest.join('=')] : [args[index + 1] ?? ''];
  });
}

function addressSecrets(url: string): readonly string[] {
  const password = /^[a-z]+:\/\/[^/?#@]*:([^/?#@]*)@/i.exec(url)?.[1] ?? '';
  const query = (url.split('#')[0] ?? '').split('?').slice(1).join('?').split('&');
  const values = query
    .filter((pair) => SECRET_KEY.test(pair.split('=')[0] ?? ''))
    .map((pair) => pair.split('=').slice(1).join('='));
  return [password, ...values].flatMap((value) => [value, decoded(value)]);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    // Not percent-encoded after all: then the text as it stands is the secret.
    return value;
  }
}

function isSecret(value: string): boolean {
  return value.length >= MIN_SECRET_CHARACTERS && !COMMON_WORDS.has(value.toLowerCase());
}
