// Stands before a model server and keeps the bytes of every request's body, which a parsed request no longer tells.
import { listen, readBody, type HttpEndpoint } from '../../testing/scripted-model-http.ts';

/** The relay. */
export interface RawRelay extends HttpEndpoint {
  /** Every body so far, in order of arrival. */
  readonly bodies: readonly string[];
  /** Where requests go; before it is set they are refused. */
  forwardTo(baseUrl: string): void;
}

/** Starts it on a free port. */
export async function startRawRelay(): Promise<RawRelay> {
  const bodies: string[] = [];
  let target: string | undefined;
  const endpoint = await listen((request, response) => {
    const relay = async (): Promise<void> => {
      const body = await readBody(request);
      bodies.push(body);
      if (target === undefined) throw new Error('The relay has nowhere to go');
      const url = `${target}${(request.url ?? '').replace(/^\/v1/, '')}`;
      const answer = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      const type = answer.headers.get('content-type') ?? 'application/json';
      response.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
    };
    relay().catch((error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))));
  });
  return {
    ...endpoint,
    bodies,
    forwardTo(baseUrl) {
      target = baseUrl;
    },
  };
}

/** The bytes of the tool array in a body, from `[` to `]`; fails where they are not those of compact JSON. */
export function toolBytes(body: string): string {
  const { tools = [] } = JSON.parse(body) as { readonly tools?: readonly unknown[] };
  const bytes = JSON.stringify(tools);
  if (!body.includes(`"tools":${bytes}`))
    throw new Error('The tool array does not stand in the body as it was written');
  return bytes;
}
