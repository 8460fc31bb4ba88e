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

/** The SDK's reports that quote a whole message: a late answer, progress of a call that is over. */
const QUOTING = /^Received a (response|progress notification) for an unknown/;

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
      const quoted = QUOTING.exec(error.message);
      const message = quoted
        ? `a late ${quoted[1] === 'response' ? 'answer' : 'sign of progress'} was dropped`
        : error.message;
      log({ level: 'debug', message: redact(message.slice(0, 500)), server });
    },
  };
}
