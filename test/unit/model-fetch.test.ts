// The fetch under the built-in provider: no time limit of its own, proxies of the environment, loopback never through one.
import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createModelFetch } from '../../activities/model/model-fetch.ts';
import { listen } from '../../testing/scripted-model-http.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(body: string): Promise<string> {
  const endpoint = await listen((_request, response) => response.end(body));
  closers.push(endpoint.close);
  return new URL(endpoint.baseUrl).origin;
}

/** A proxy that lets nothing through, and keeps what it was asked for. */
async function proxy(): Promise<{ readonly address: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('from the proxy');
  });
  server.on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The proxy has no port.');
  return { address: `http://127.0.0.1:${address.port}`, asked };
}

describe('the model’s fetch', () => {
  it('asks the server itself where no proxy is set', async () => {
    const response = await createModelFetch({})(await serve('direct'));
    expect(await response.text()).toBe('direct');
  });

  it('goes through the proxy of the environment', async () => {
    const { address, asked } = await proxy();
    await createModelFetch({ HTTPS_PROXY: address })('https://models.example/v1').catch(() => {});
    expect(asked).toEqual(['models.example:443']);
  });

  it('never asks a proxy for this machine', async () => {
    const { address, asked } = await proxy();
    const env = { HTTP_PROXY: address, HTTPS_PROXY: address };
    expect(await (await createModelFetch(env)(await serve('direct'))).text()).toBe('direct');
    expect(asked).toEqual([]);
  });

  it('leaves out what NO_PROXY names', async () => {
    const { address, asked } = await proxy();
    const env = { https_proxy: address, NO_PROXY: 'other.example, .invalid' };
    await createModelFetch(env)('https://models.invalid/v1').catch(() => {});
    expect(asked).toEqual([]);
  });

  it('says which setting is wrong, and not what stands in it', async () => {
    const call = async () => createModelFetch({ HTTPS_PROXY: 'user:pa55word@nowhere:x' })('https://models.example');
    await expect(call()).rejects.toMatchObject({ type: 'ModelUnknown' });
    await expect(call()).rejects.not.toMatchObject({ message: expect.stringContaining('pa55word') });
  });
});
