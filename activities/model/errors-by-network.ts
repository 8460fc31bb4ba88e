// Connections that failed before an answer: refused, reset, no such host, a certificate that is not trusted.
import { messageOf } from '../../shared/errors.ts';
import { type ModelCallContext, ModelError } from './model-error.ts';

const NETWORK_CODE =
  /^(?:E(?!RR_)[A-Z_]{3,}|UND_ERR_\w+|ERR_(?:TLS|SSL)_\w+|UNABLE_TO_\w+|HPE_\w+|[A-Z_]*CERT[A-Z_]*)$/;

/** The network's own words for the fault under an error, its code included, or null if it is none of the network's. */
export function findNetworkFault(thrown: unknown): string | null {
  const seen = new Set<unknown>();
  let current = thrown;
  let terminated: string | null = null;
  while (current instanceof Error && !seen.has(current)) {
    seen.add(current);
    // A cast to read what Node puts there: a string, or nothing.
    const code = (current as { readonly code?: unknown }).code;
    if (typeof code === 'string' && NETWORK_CODE.test(code)) return withCode(current, code);
    // Node's fetch: `fetch failed` before the answer, `terminated` within it; the cause, if any, says more.
    if (current instanceof TypeError && /^(?:fetch failed|terminated)$/.test(current.message)) {
      terminated = current.message;
    }
    current = current.cause ?? firstOf(current);
  }
  return terminated;
}

/** The error for a provider that could not be reached. Retryable. */
export function unreachableError(fault: string, url: string | undefined, context: ModelCallContext): ModelError {
  const parsed = url === undefined ? null : URL.parse(url);
  const port = parsed === null ? '' : parsed.port || (parsed.protocol === 'http:' ? '80' : '443');
  const place = parsed === null ? '' : ` at ${parsed.hostname}:${port}`;
  const setting = context.addressSetting;
  const mend =
    setting === undefined
      ? 'Check that the provider is up and that its address is right.'
      : `Check that it is up, and ${setting} in the Worker's environment.`;
  return new ModelError('ModelUnreachable', `${context.model}${place} cannot be reached: ${fault}.`, mend);
}

function withCode(error: Error, code: string): string {
  const message = messageOf(firstOf(error) ?? error);
  return message.includes(code) ? message : `${message} (${code})`;
}

/** Node tries several addresses of one host and reports all failures; one of them says enough. */
function firstOf(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : undefined;
}
