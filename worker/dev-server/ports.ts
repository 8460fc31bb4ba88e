// The ports of the embedded server: those the environment names, else free ones.
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';

import { LongshoreError } from '../../shared/errors.ts';

/** The server's two ports on the loopback interface. */
export interface ServerPorts {
  readonly port: number;
  readonly uiPort: number;
  /** Whether another try may choose other ones: neither is named by the environment. */
  readonly areFree: boolean;
}

/** The settings that name ports. */
export const PORT_SETTING = 'LONGSHORE_PORT';
export const UI_PORT_SETTING = 'LONGSHORE_UI_PORT';

/** Chooses the ports. @throws `PortTaken` for a named one in use, `UsageInvalid` for one that is no port number. */
export async function choosePorts(env: NodeJS.ProcessEnv): Promise<ServerPorts> {
  const named = namedPorts(env);
  if (named.port !== undefined) await requireFree(named.port, PORT_SETTING);
  if (named.uiPort !== undefined) await requireFree(named.uiPort, UI_PORT_SETTING);
  const [first, second] = await freePorts();
  return {
    port: named.port ?? first,
    uiPort: named.uiPort ?? second,
    areFree: named.port === undefined && named.uiPort === undefined,
  };
}

/** The ports that the environment names, whether a server runs already or not. @throws `UsageInvalid` as `choosePorts`. */
export function namedPorts(env: NodeJS.ProcessEnv): { port: number | undefined; uiPort: number | undefined } {
  return { port: namedPort(env, PORT_SETTING), uiPort: namedPort(env, UI_PORT_SETTING) };
}

function namedPort(env: NodeJS.ProcessEnv, setting: string): number | undefined {
  const text = env[setting];
  if (text === undefined || text === '') return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new LongshoreError(
    'UsageInvalid',
    `${setting} is ${JSON.stringify(text)}, which is no port.`,
    `Set ${setting} to a number from 1 to 65535, or unset it.`,
  );
}

async function requireFree(port: number, setting: string): Promise<void> {
  try {
    const probe = await listenOn(port);
    await probe.close();
  } catch (thrown) {
    throw new LongshoreError(
      'PortTaken',
      `Port ${port}, named by ${setting}, cannot be used (${(thrown as NodeJS.ErrnoException).code}).`,
      `Stop what uses port ${port}, set ${setting} to another port, or unset it to get a free one.`,
      { cause: thrown },
    );
  }
}

/** Two different free ports: both are held while the second is chosen. */
async function freePorts(): Promise<readonly [number, number]> {
  const [first, second] = await Promise.all([listenOn(0), listenOn(0)]);
  await Promise.all([first.close(), second.close()]);
  return [first.port, second.port];
}

async function listenOn(port: number): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return {
    // A listening TCP server's address is always an `AddressInfo`.
    port: (server.address() as AddressInfo).port,
    close: async () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
