// What a server said that refused or failed a request over HTTP, in words for the model and for people.
import type { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** How the SDK names where a redirect leads that it does not follow. */
const REDIRECT_TARGET = /Redirect to (\S+) not followed|try (\S+) instead/;

/** The status, which the SDK leaves out of its message, and what the server said with it; not redacted. */
export function httpWords({ code, message }: StreamableHTTPError): string {
  const said = message.replace(/^Streamable HTTP error: /, '').replace(/^Error POSTing to endpoint:\s*/, '');
  if (code === undefined || code < 100) return said;
  if (code >= 300 && code < 400) return redirectWords(code, said);
  return `it answered status ${code}${said === '' ? '' : `: ${said}`}`;
}

/** The SDK follows a few redirects within one origin that keep the request as it is; headers with tokens go nowhere else. */
function redirectWords(code: number, said: string): string {
  const [, elsewhere, secure] = REDIRECT_TARGET.exec(said) ?? [];
  const target = elsewhere ?? secure;
  const where =
    target === undefined
      ? 'that leads nowhere'
      : `to ${target}, which is not followed (in a circle, to another origin, or not by status 307 or 308)`;
  return `it answered status ${code}, a redirect ${where}. Set its \`url\` to the address that answers by itself`;
}
