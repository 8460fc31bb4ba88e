// The built-in provider: everything that speaks OpenAI's chat completions, at `OPENAI_BASE_URL`.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { fetchEventStream } from './event-stream.ts';
import { ModelError } from './model-error.ts';
import type { Redact } from './redact.ts';

/** Where requests go unless `OPENAI_BASE_URL` says otherwise. */
export const DEFAULT_BASE_URL = 'https://api.openai.com/v1';

/** The settings that errors name. */
export const openAiSettings = { addressSetting: 'OPENAI_BASE_URL', keySetting: 'OPENAI_API_KEY' } as const;

/**
 * Makes a chat model. `OPENAI_API_KEY` may be missing where the host is not OpenAI's own.
 * @throws ModelError `ModelUnknown` for an address that is none, `ModelUnauthorized` for a missing key.
 */
export function openAiModel(options: {
  readonly model: string;
  /** As in the spec, for messages. */
  readonly name: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redact: Redact;
  readonly fetch: typeof fetch;
  readonly onBytes?: (() => void) | undefined;
}): LanguageModelV4 {
  const { model, name, env, redact } = options;
  const baseUrl = readBaseUrl(env['OPENAI_BASE_URL']);
  const apiKey = env['OPENAI_API_KEY']?.trim() ?? '';
  if (apiKey === '' && baseUrl.hostname === 'api.openai.com') {
    const mend = "Set it in the Worker's environment, or set OPENAI_BASE_URL to a server that needs none.";
    throw new ModelError(
      'ModelUnauthorized',
      `OPENAI_API_KEY is not set, and ${name} at ${baseUrl.host} needs it.`,
      mend,
    );
  }
  // Checked here because Node's fetch refuses such a key in words that repeat it.
  if (!/^[\x21-\x7e]*$/.test(apiKey)) {
    const message = 'OPENAI_API_KEY holds a character that no HTTP header can carry.';
    throw new ModelError(
      'ModelUnauthorized',
      message,
      "Correct it in the Worker's environment: look for line breaks and quotes.",
    );
  }
  const query = Object.fromEntries(baseUrl.searchParams);
  const provider = createOpenAICompatible({
    name: 'openai',
    baseURL: `${baseUrl.origin}${baseUrl.pathname}`,
    includeUsage: true,
    supportsStructuredOutputs: true,
    fetch: fetchEventStream(
      { model: name, redact, streaming: false, ...openAiSettings },
      { send: options.fetch, onBytes: options.onBytes },
    ),
    ...(apiKey === '' ? {} : { apiKey }),
    ...(Object.keys(query).length === 0 ? {} : { queryParams: query }),
  });
  return provider(model);
}

function readBaseUrl(text: string | undefined): URL {
  const url = URL.parse(text?.trim() || DEFAULT_BASE_URL);
  const mend = `Set it to the address of an OpenAI-compatible server, such as ${DEFAULT_BASE_URL}, or leave it unset.`;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new ModelError('ModelUnknown', 'OPENAI_BASE_URL is no http or https address.', mend);
  }
  // Node's fetch refuses such addresses, and would print them.
  if (url.username !== '' || url.password !== '') {
    throw new ModelError('ModelUnknown', 'OPENAI_BASE_URL holds a user name or password, which is not sent.', mend);
  }
  return url;
}
