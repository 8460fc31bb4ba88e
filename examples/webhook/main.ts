// Runs the web server: `CHAT_URL=https://… WEBHOOK_SECRET=… PUBLIC_URL=https://… node main.ts`. `CHAT_URL` takes a JSON document
// with a `text`, as the incoming web hooks of most chats do; Temporal's own variables name the server.
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { startWebhook, type Message } from './server.ts';
import { readSettings, type WebhookSettings } from './settings.ts';

const settings = readSettings(process.env);
if ('faults' in settings) {
  console.error(`The web server cannot start:\n${settings.faults.map((fault) => `- ${fault}`).join('\n')}`);
  process.exitCode = 1;
} else await serve(settings);

async function serve({ chatUrl, ...options }: WebhookSettings): Promise<void> {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const client = new Client({ connection: await Connection.connect(connectionOptions), namespace });
  const webhook = await startWebhook({
    client,
    ...options,
    post: async ({ text, approveUrl, denyUrl }: Message) => {
      const response = await fetch(chatUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ text: `${text}\nApprove: ${approveUrl}\nDeny: ${denyUrl}` }),
      });
      if (!response.ok) throw new Error(`the chat answered ${response.status}`);
    },
  });
  console.log(`Listening on ${webhook.url}`);
  for (;;) {
    await webhook.look().catch((error: unknown) => console.error('could not tell what waits:', error));
    await delay(5_000);
  }
}
