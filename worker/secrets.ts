// Takes configured secrets out of what is about to be recorded: bytes, and what a model wrote. A model may
// have read one in a message; its arguments and its answer go into history. Source: architecture D15.
import { credentialsOf } from '../shared/mcp-config-credentials.ts';
import type { McpConfig } from '../shared/mcp-config.ts';
import type { AskModel, ModelAnswer } from '../shared/model.ts';
import { redactValue } from '../shared/redact-value.ts';
import { REDACTED, secretSpans } from '../shared/secret-redaction.ts';

/** Takes secrets out of a text. */
export type RedactText = (text: string) => string;

/** The key of the built-in provider; shorter ones are placeholders such as `none`. */
function modelKey(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const key = env['OPENAI_API_KEY'];
  return key !== undefined && key.length >= 8 ? [key] : [];
}

const STORE_VARIABLES = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const;

/** The model's key, those of the file store in S3, and its own key for SSE-C, which the variable named holds. */
export function ownSecrets(env: Readonly<Record<string, string | undefined>>, keyVariable?: string): readonly string[] {
  const variables = keyVariable === undefined ? STORE_VARIABLES : [...STORE_VARIABLES, keyVariable];
  return [...modelKey(env), ...variables.map((name) => env[name] ?? '').filter((value) => value.length >= 8)];
}

/** The credentials of now and of every time before: one may be replaced while the Worker runs. */
export function rememberingCredentials(
  mcp: McpConfig,
  env: Readonly<Record<string, string | undefined>>,
  keyVariable?: string,
): () => readonly string[] {
  const known = new Set<string>();
  return () => {
    for (const credential of [...credentialsOf(mcp, env), ...ownSecrets(env, keyVariable)]) known.add(credential);
    return [...known];
  };
}

/** The bytes without secrets, as `redact` takes them out of texts; what surrounds one stays byte for byte. The same array where there is none. */
export function redactBytes(bytes: Uint8Array, secrets: readonly string[]): Uint8Array {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Cut and joined as bytes: strings of a large result would be held beside it, twice over.
  const spans = secretSpans(bytes, secrets, (text, from) => view.indexOf(text, from));
  if (spans.length === 0) return bytes;
  const parts: Buffer[] = [];
  let end = 0;
  for (const span of spans) {
    parts.push(view.subarray(end, span.start), REPLACEMENT);
    end = span.end;
  }
  return Buffer.concat([...parts, view.subarray(end)]);
}

const REPLACEMENT = Buffer.from(REDACTED);

/** The same model, with secrets taken out of all that it answers. */
export function redactingModel(askModel: AskModel, redactText: RedactText): AskModel {
  return async (request) => redactAnswer(await askModel(request), redactText);
}

function redactAnswer(answer: ModelAnswer, redactText: RedactText): ModelAnswer {
  const { toolCalls, ...rest } = redactValue(answer, redactText);
  return {
    ...rest,
    toolCalls: toolCalls.map((call) => ({ ...call, inputText: redactJson(call.inputText, redactText) })),
  };
}

/** JSON may spell a secret with escapes (`\u0073…`), which only show once it is read. Untouched where there is none. */
function redactJson(text: string, redactText: RedactText): string {
  if (!text.includes('\\')) return text;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // What is no JSON is told to the model as such, in the text that was redacted already.
    return text;
  }
  const before = JSON.stringify(parsed);
  const after = JSON.stringify(redactValue(parsed, redactText));
  return before === after ? text : after;
}
