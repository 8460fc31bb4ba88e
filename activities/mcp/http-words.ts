// What a server said that refused or failed a request over HTTP, in words for the model and for people.
import type { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** The status, which the SDK leaves out of its message, and what the server said with it; not redacted. */
export function httpWords({ code, message }: StreamableHTTPError): string {
  const said = message.replace(/^Streamable HTTP error: /, '').replace(/^Error POSTing to endpoint:\s*/, '');
  if (code === undefined || code < 100) return said;
  return `it answered status ${code}${said === '' ? '' : `: ${said}`}`;
}
