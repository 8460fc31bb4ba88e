// What the pool says of a server in the Worker's log. Answers never stand there, not even late ones. Source: D15.
import type { JsonValue } from '../../shared/json.ts';

/** One line for the Worker's log. */
export interface PoolLogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly server?: string;
  readonly [key: string]: JsonValue | undefined;
}

/** The log of one server. */
export interface ServerLog {
  debug(message: string, more?: Readonly<Record<string, JsonValue>>): void;
  info(message: string): void;
  /** A line on stdout that is no message: reported once, the rest at level debug. */
  noise(line: string): void;
  /** What the SDK reports beside any request. */
  trouble(error: Error): void;
}

/** The SDK's reports that quote a whole message, with what is said in their place. */
const QUOTING: readonly (readonly [RegExp, string])[] = [
  [/^Received a response for an unknown/, 'a late answer was dropped'],
  [/^Received a progress notification for an unknown/, 'progress of a call that is over was dropped'],
  [/^Unknown message type/, 'a message of an unknown type was dropped'],
];

/** Makes the log of a server. */
export function createServerLog(
  server: string,
  log: (entry: PoolLogEntry) => void,
  redact: (text: string) => string,
): ServerLog {
  let isNoisy = false;
  return {
    debug: (message, more) => log({ level: 'debug', message: redact(message), server, ...more }),
    info: (message) => log({ level: 'info', message: redact(message), server }),
    noise: (line) => {
      if (isNoisy) {
        log({ level: 'debug', message: redact(line), server, stream: 'stdout' });
        return;
      }
      isNoisy = true;
      const message = `MCP server \`${server}\` prints on stdout what is no message; such lines are skipped`;
      log({ level: 'warn', message, server, stream: 'stdout', line: redact(line) });
    },
    trouble: (error) => {
      const quoting = QUOTING.find(([pattern]) => pattern.test(error.message));
      const message = quoting?.[1] ?? redact(error.message).slice(0, 500);
      log({ level: 'debug', message, server });
    },
  };
}
