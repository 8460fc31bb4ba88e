// A small web server between what waits and a chat: it posts a message with two links for each waiting call, and turns a click
// into a decision. It looks for what waits by itself; a hook of the Worker may tell it sooner.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Client } from '@temporalio/client';
import { approve, deny, getApproval, listApprovals, type Approval } from '../../client/index.ts';
import { Links, type LinkContent, type LinkProblem } from './links.ts';
import { confirmPage, resultPage } from './pages.ts';

/** What the server works with. */
export interface WebhookOptions {
  readonly client: Client;
  /** Signs the links, and lets the Worker's hook in. 32 characters or more. */
  readonly secret: string;
  /** Posts a message where people read it. */
  readonly post: (message: Message) => Promise<void>;
  /** How long links are good, in milliseconds. @default 3600000 */
  readonly linksForMs?: number;
  /** @default a free one */
  readonly port?: number;
  /** As people reach it. @default the loopback address */
  readonly publicUrl?: string;
}

/** A message about one waiting call. */
export interface Message {
  readonly approval: Approval;
  readonly text: string;
  readonly approveUrl: string;
  readonly denyUrl: string;
}

/** A server that runs. */
export interface Webhook {
  readonly url: string;
  /** Looks for what waits, and posts what is new. */
  readonly look: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const MAX_BODY_BYTES = 64 * 1024;
const HOUR_MS = 3_600_000;
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** Starts the server. */
export async function startWebhook(options: WebhookOptions): Promise<Webhook> {
  const { client, post, linksForMs = HOUR_MS } = options;
  const links = new Links(options.secret);
  const told = new Set<string>();
  const server = createServer((request, response) => {
    void answerRequest(request, response).catch((error: unknown) => {
      respond(response, 500, resultPage('This did not work', String(error)));
    });
  });
  await new Promise<void>((resolve) => void server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const local = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = options.publicUrl ?? local;

  async function tell(approval: Approval): Promise<void> {
    const key = `${approval.id} ${approval.digest}`;
    // Questions are answered in words, for which two links are no place.
    if (approval.kind !== 'approval' || told.has(key)) return;
    told.add(key);
    const tokens = links.make(approval, linksForMs);
    const linkTo = (token: string): string => `${url}/decide?token=${token}`;
    const call = `${approval.server}.${approval.tool} ${JSON.stringify(approval.arguments)}`;
    await post({
      approval,
      text: `${approval.agent ?? 'An agent'} waits for a decision: ${call}`,
      approveUrl: linkTo(tokens.approve),
      denyUrl: linkTo(tokens.deny),
    }).catch((error: unknown) => {
      // Not told: the next look tries again.
      told.delete(key);
      throw error;
    });
  }

  async function answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', local);
    if (request.method === 'GET' && pathname === '/decide') {
      return ask(response, searchParams.get('token') ?? '');
    }
    if (request.method === 'POST' && pathname === '/decide') return decide(response, await formOf(request));
    if (request.method === 'POST' && pathname === '/events') return hear(request, response);
    respond(response, 404, resultPage('Not found', 'There is nothing here.'));
  }

  async function ask(response: ServerResponse, token: string): Promise<void> {
    const content = links.read(token);
    if (typeof content === 'string') return refuse(response, content);
    const approval = await getApproval(client, content.id);
    if (approval.digest !== content.digest || approval.state !== 'waiting') {
      return respond(
        response,
        409,
        resultPage('Nothing to decide', `The call is not as it was shown: ${approval.state}.`),
      );
    }
    respond(response, 200, confirmPage(approval, content.decision, token));
  }

  async function decide(response: ServerResponse, form: URLSearchParams): Promise<void> {
    const content = links.read(form.get('token') ?? '');
    if (typeof content === 'string') return refuse(response, content);
    if (!links.use(content)) return refuse(response, 'used');
    try {
      await send(content, form);
      respond(response, 200, resultPage('Done', `${content.decision} was sent for ${content.id}.`));
    } catch (error) {
      links.giveBack(content);
      const reason = error instanceof Error ? error.message : String(error);
      respond(response, 409, resultPage('Not decided', reason));
    }
  }

  /** The name is what somebody typed: a claim, as the record says. */
  async function send({ id, digest, decision }: LinkContent, form: URLSearchParams): Promise<void> {
    const approver = `${form.get('name')?.trim() || 'somebody'} (by link)`;
    const reason = form.get('reason')?.trim();
    const more = { digest, approver, ...(reason && { reason }) };
    await (decision === 'approve' ? approve(client, id, more) : deny(client, id, more));
  }

  /** From the Worker's hook. Only the id is taken from it; what waits is looked up. */
  async function hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    if (!links.isSecret(given)) return void response.writeHead(401).end();
    const event = JSON.parse(await bodyOf(request)) as { readonly approvalId?: string };
    const approval = await getApproval(client, event.approvalId ?? '');
    if (approval.state === 'waiting') await tell(approval);
    response.writeHead(204).end();
  }

  return {
    url,
    look: async () => {
      for (const approval of await listApprovals(client)) await tell(approval);
    },
    close: () => closeServer(server),
  };
}

function refuse(response: ServerResponse, problem: LinkProblem): void {
  const words = {
    forged: [403, 'This link is not one of ours.'],
    expired: [410, 'This link has expired. See `longshore approvals list`.'],
    used: [410, 'A link of this message was used already.'],
  } as const;
  const [status, text] = words[problem];
  respond(response, status, resultPage('Not decided', text));
}

function respond(response: ServerResponse, status: number, html: string): void {
  if (response.headersSent) return void response.end();
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/html; charset=utf-8' }).end(html);
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  return new URLSearchParams(await bodyOf(request));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw new Error('the body is too large');
  return text(request);
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
}
