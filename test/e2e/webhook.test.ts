// The web hook example with real HTTP requests: a message for what waits, links that decide once on what was shown, and nothing that
// is decided by fetching them.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getApproval } from '../../client/approvals.ts';
import { Links } from '../../examples/webhook/links.ts';
import { startWebhook, type Message, type Webhook } from '../../examples/webhook/server.ts';
import { deskOf, writer } from '../support/local-tools.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type StartedTurn, type World } from '../support/turn-world.ts';

const SECRET = 's'.repeat(40);
const ran: string[] = [];
const desk = deskOf(
  writer('order', ({ item }) => {
    ran.push(String(item));
    return `ordered ${String(item)}`;
  }),
);
const gated = { name: 'buyer', mcp_servers: [{ name: 'desk', preload: true }] };

let world: World;
let webhook: Webhook;
const messages: Message[] = [];

beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk], hooks: { onApproval: tellWebhook } } });
  webhook = await startWebhook({
    client: world.client,
    secret: SECRET,
    post: async (message) => void messages.push(message),
  });
});
afterAll(async () => {
  await webhook.close();
  await world.close();
});

/** The Worker's hook, as in the example's configuration. */
async function tellWebhook({
  type,
  approvalId,
}: {
  readonly type: string;
  readonly approvalId: string;
}): Promise<void> {
  if (type !== 'waiting') return;
  const headers = { authorization: `Bearer ${SECRET}` };
  const response = await fetch(`${webhook.url}/events`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ approvalId }),
  });
  if (response.status !== 204) throw new Error(`the web hook answered ${response.status}`);
}

async function order(item: string): Promise<{ readonly turn: StartedTurn; readonly message: Message }> {
  const toolCalls = [{ name: 'desk__order', arguments: { item } }];
  const turn = await world.start(gated, { text: `Order ${item}.`, script: inOrder({ toolCalls }, { text: 'ok' }) });
  const find = (): Message | undefined => messages.find(({ approval }) => approval.workflowId === turn.workflowId);
  await expect.poll(find, { timeout: 30_000 }).toBeDefined();
  const message = find();
  if (!message) throw new Error('no message');
  return { turn, message };
}

async function press(
  link: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<{ status: number; text: string }> {
  const token = new URL(link).searchParams.get('token') ?? '';
  const body = new URLSearchParams({ token, ...fields });
  const response = await fetch(`${webhook.url}/decide`, { method: 'POST', body });
  return { status: response.status, text: await response.text() };
}

describe('a message about a waiting call', () => {
  it('[APPR-13] has the arguments and two links; fetching one decides nothing, pressing its button does, once', async () => {
    const { turn, message } = await order('<b>12 lamps</b>');
    expect(message.text).toContain('buyer waits for a decision: desk.order {"item":"<b>12 lamps</b>"}');
    const page = await fetch(message.approveUrl);
    const html = await page.text();
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(html).toContain('&lt;b&gt;12 lamps&lt;/b&gt;');
    expect(html).not.toContain('<b>12 lamps');
    expect((await getApproval(world.client, message.approval.id)).state).toBe('waiting');
    expect(await press(message.approveUrl, { name: 'Ann', reason: 'we need them' })).toMatchObject({ status: 200 });
    const { result, view } = await turn.ended();
    expect(result.status).toBe('completed');
    expect(view.steps[0]?.toolCalls[0]).toMatchObject({
      outcome: 'ok',
      decisions: [{ approver: 'Ann (by link)', reason: 'we need them' }],
    });
    expect(ran.filter((item) => item.includes('lamps'))).toHaveLength(1);
    for (const link of [message.approveUrl, message.denyUrl]) {
      const again = await press(link);
      expect(again).toMatchObject({ status: 410, text: expect.stringContaining('used already') });
    }
  });

  it('[APPR-13] denies with a reason that the model reads', async () => {
    const { turn, message } = await order('a yacht');
    expect(await press(message.denyUrl, { reason: 'too dear' })).toMatchObject({ status: 200 });
    const { requests } = await turn.ended();
    expect(toolTexts(requests[1])[0]).toContain('too dear');
    expect(ran).not.toContain('a yacht');
  });

  it('[APPR-13] is told once, by the hook or by looking', async () => {
    const { turn, message } = await order('a chair');
    await webhook.look();
    await webhook.look();
    expect(messages.filter(({ approval }) => approval.id === message.approval.id)).toHaveLength(1);
    await press(message.denyUrl);
    await turn.ended();
  });

  it('[APPR-13] says so when the call was decided elsewhere, and the link stays without effect', async () => {
    const { turn, message } = await order('a table');
    const { approve } = await import('../../client/decide.ts');
    await approve(world.client, message.approval.id);
    await turn.ended();
    expect(await press(message.denyUrl)).toMatchObject({ status: 409, text: expect.stringContaining('ended already') });
    expect((await fetch(message.denyUrl)).status).toBe(409);
  });
});

describe('a link', () => {
  const content = { id: 'turn-a:t1.0.0', digest: 'd'.repeat(64) };

  it('[APPR-13] that was altered, made with another secret, or is no link is refused', async () => {
    const { approve: good } = new Links(SECRET).make(content, 60_000);
    const [body = '', signature = ''] = good.split('.');
    const swapped = Buffer.from(body, 'base64url').toString('utf8').replace('"approve"', '"deny"');
    const altered = `${Buffer.from(swapped).toString('base64url')}.${signature}`;
    const foreign = `${body}.${createHmac('sha256', 'x'.repeat(40)).update(body).digest('base64url')}`;
    for (const token of [altered, foreign, body, '', '.', 'a.b.c']) {
      const answer = await press(`${webhook.url}/decide?token=${token}`);
      expect({ token, status: answer.status }).toEqual({ token, status: 403 });
    }
  });

  it('[APPR-13] that has expired is refused', () => {
    const links = new Links(SECRET);
    expect(links.read(links.make(content, 0).approve)).toBe('expired');
  });

  it('[APPR-13] needs a secret worth the name, and the hook a right one', async () => {
    expect(() => new Links('short')).toThrow('32 characters');
    const answer = await fetch(`${webhook.url}/events`, { method: 'POST', body: '{}' });
    expect(answer.status).toBe(401);
  });
});
