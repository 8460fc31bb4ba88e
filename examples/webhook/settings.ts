// What the web server is told by its environment, checked whole before anything is started.

/** The settings of `main.ts`. */
export interface WebhookSettings {
  readonly chatUrl: string;
  readonly secret: string;
  readonly port: number;
  readonly publicUrl?: string;
}

/** A secret of fewer characters could be guessed. */
export const SHORTEST_SECRET = 32;

/** The settings, or all that is wrong with them, a line each. No line repeats the secret. */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
): WebhookSettings | { readonly faults: readonly string[] } {
  const { CHAT_URL = '', WEBHOOK_SECRET = '', PUBLIC_URL, PORT = '8080' } = env;
  const port = Number(PORT);
  const faults = [
    ...(URL.canParse(CHAT_URL) ? [] : ['CHAT_URL is no address. Set it to the incoming web hook of your chat.']),
    ...(WEBHOOK_SECRET.length >= SHORTEST_SECRET
      ? []
      : [
          `WEBHOOK_SECRET has ${WEBHOOK_SECRET.length} characters and needs ${SHORTEST_SECRET} or more. Make one with \`openssl rand -hex 32\`.`,
        ]),
    ...(Number.isInteger(port) && port >= 0 && port <= 65_535 ? [] : [`PORT is ${PORT}. Set it to 0 to 65535.`]),
    ...(!PUBLIC_URL || URL.canParse(PUBLIC_URL)
      ? []
      : [`PUBLIC_URL is ${PUBLIC_URL}, which is no address. Set it to what people reach this server by.`]),
  ];
  if (faults.length > 0) return { faults };
  return { chatUrl: CHAT_URL, secret: WEBHOOK_SECRET, port, ...(PUBLIC_URL && { publicUrl: PUBLIC_URL }) };
}
