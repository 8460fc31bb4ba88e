// Calls that run side by side on one HTTP session: what one of them ends in is its own affair.
import { describe, expect, it } from 'vitest';

import { startHttpServer, type HttpTestServer } from '../support/mcp-http-server.ts';
import { call, eventually, firstText, testPool, type TestPool } from '../support/mcp-pools.ts';

const SIBLINGS = 4;
const FAILING = 5;

interface Scene extends TestPool {
  readonly server: HttpTestServer;
}

async function openScene(): Promise<Scene> {
  const server = await startHttpServer();
  return { server, ...testPool({ web: { type: 'http', url: server.url, headers: {} } }) };
}

function sessionsOpened({ seen }: HttpTestServer): number {
  return seen.filter((request) => request.rpc === 'initialize').length;
}

/** Starts calls that the server holds, half of them as event streams, and waits until it has them. */
async function holdSiblings({ pool, server }: Scene): Promise<readonly Promise<string>[]> {
  const tools = Array.from({ length: SIBLINGS }, (_, n) => (n % 2 === 0 ? 'held' : 'heldStream'));
  const answers = tools.map(async (tool) => firstText(await call(pool, ['web', tool])));
  for (const answer of answers) answer.catch(() => {});
  await eventually(() => server.heldCount() === SIBLINGS);
  return answers;
}

async function failMany({ pool }: Scene, args: { readonly status: number; readonly text: string }): Promise<string[]> {
  const failing = Array.from({ length: FAILING }, () =>
    call(pool, ['web', 'status'], args).then(
      () => 'ok',
      (error: { readonly type: string }) => error.type,
    ),
  );
  return Promise.all(failing);
}

describe('a call that the server refuses', () => {
  it.each([
    [401, 'Who are you?', 'McpServerUnavailable', 1],
    [403, 'You may not', 'McpServerUnavailable', 1],
    [429, 'Not so fast', 'McpServerUnavailable', 1],
    [400, 'Bad arguments', 'McpServerUnavailable', 1],
    [500, 'Oops', 'ToolCallFailed', 1],
    [503, 'Busy', 'ToolCallFailed', 1],
    // The session is opened anew, once for all of them; what runs in the old one goes on.
    [404, 'No such session', 'McpServerUnavailable', 2],
    [400, 'No valid session', 'McpServerUnavailable', 2],
    [400, 'Bad Request: Server not initialized', 'McpServerUnavailable', 2],
  ] as const)('by %d (%s) ends alone: its siblings finish', async (status, text, type, sessions) => {
    const scene = await openScene();
    const { server, pool } = scene;
    const siblings = await holdSiblings(scene);
    expect(await failMany(scene, { status, text })).toEqual(Array.from({ length: FAILING }, () => type));
    expect(firstText(await call(pool, ['web', 'json']))).toBe('answer');
    // Neither ended nor told that they are cancelled.
    expect(server.seen.filter(({ method, rpc }) => method === 'DELETE' || rpc === 'notifications/cancelled')).toEqual(
      [],
    );
    server.release();
    expect(await Promise.all(siblings)).toEqual(Array.from({ length: SIBLINGS }, () => 'answer'));
    expect(sessionsOpened(server)).toBe(sessions);
    // Every session is ended: the old one when its last call is done, the other with the pool.
    await eventually(() => server.seen.filter(({ method }) => method === 'DELETE').length === sessions - 1);
    await pool.close();
    expect(server.seen.filter(({ method }) => method === 'DELETE')).toHaveLength(sessions);
  });
});

describe('a session that the server has forgotten', () => {
  it('is opened anew once for calls that hear of it at the same time; each is answered', async () => {
    const scene = await openScene();
    const { server, pool } = scene;
    const siblings = await holdSiblings(scene);
    server.forgetSessions(404);
    const answers = await Promise.all(
      Array.from({ length: FAILING }, async () => firstText(await call(pool, ['web', 'json']))),
    );
    expect(answers).toEqual(Array.from({ length: FAILING }, () => 'answer'));
    expect(sessionsOpened(server)).toBe(2);
    server.release();
    expect(await Promise.all(siblings)).toEqual(Array.from({ length: SIBLINGS }, () => 'answer'));
  });
});

describe('a pool that closes', () => {
  it('does not wait for calls of a session that was left behind', async () => {
    const scene = await openScene();
    const siblings = await holdSiblings(scene);
    await failMany(scene, { status: 404, text: 'No such session' });
    await scene.pool.close();
    const outcomes = await Promise.allSettled(siblings);
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: SIBLINGS }, () => 'rejected'));
  });
});

describe('a server that takes no new connections', () => {
  it('answers the calls that it has: those that cannot reach it do not end them', async () => {
    const scene = await openScene();
    const { server, pool } = scene;
    const siblings = await holdSiblings(scene);
    server.refuseConnections();
    for (let n = 0; n < FAILING; n += 1) {
      await expect(call(pool, ['web', 'json'])).rejects.toMatchObject({ type: 'McpServerUnavailable' });
    }
    server.release();
    expect(await Promise.all(siblings)).toEqual(Array.from({ length: SIBLINGS }, () => 'answer'));
  });
});
