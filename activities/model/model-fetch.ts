// The fetch under the built-in provider. Node's own gives up after 300 s without a header or a byte, which a model that
// thinks for ten minutes takes: here only the Activity's own limits decide. Proxies are those of the environment.
import { EnvHttpProxyAgent, fetch as undiciFetch, type Dispatcher } from 'undici';
import { ModelError } from './model-error.ts';
import type { Environment } from './providers.ts';

/** Never asked for through a proxy. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Makes a fetch without time limits of its own, its connections kept for the Worker's life. */
export function createModelFetch(env: Environment): typeof fetch {
  let dispatcher: Dispatcher | undefined;
  // Both follow the same standard; only their nominal types differ.
  const send = undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return (input, init) => {
    dispatcher ??= createDispatcher(env);
    return send(input, { ...init, dispatcher });
  };
}

function createDispatcher(env: Environment): Dispatcher {
  const read = (name: string): string => env[name.toLowerCase()] ?? env[name] ?? '';
  const given = read('NO_PROXY').trim();
  const noProxy = given === '*' ? given : [given, ...LOOPBACK].join(',');
  const proxies = { httpProxy: read('HTTP_PROXY'), httpsProxy: read('HTTPS_PROXY'), noProxy };
  try {
    return new EnvHttpProxyAgent({ headersTimeout: 0, bodyTimeout: 0, ...proxies });
  } catch {
    // The error would repeat the address, which may hold a password.
    throw new ModelError(
      'ModelUnknown',
      'HTTP_PROXY or HTTPS_PROXY is no http or https address.',
      "Correct it in the Worker's environment, or unset it.",
    );
  }
}
