// All checks of `doctor`, in the order in which they are shown. Later ones that cannot be made without an earlier one
// are left out: its row says why.
import type { LocalServer } from '../../worker/services.ts';
import type { LongshoreConfig } from '../../shared/config.ts';
import { namedServer } from '../../worker/dev-server.ts';
import { openHome } from '../../worker/home.ts';
import { loadConfig, loadMcp } from '../load-config.ts';
import type { CommandContext } from '../command.ts';
import { openStore } from '../store.ts';
import type { Check } from './check.ts';
import { check, ok } from './check.ts';
import { checkHome, checkNode, checkStore } from './machine.ts';
import { checkMcpServers, checkModel } from './services.ts';
import { checkCli, checkEmbedded, checkNamed, checkPacing } from './temporal.ts';

/** Runs every check that can be run. Never rejects for what a check finds. */
export async function runChecks(mcpFile: string | undefined, context: CommandContext): Promise<readonly Check[]> {
  const { env, cwd, output } = context;
  const checks: Check[] = [await check('Node', async () => checkNode())];
  const found = async <T>(
    name: string,
    find: () => Promise<T>,
    describe: (value: T) => string,
  ): Promise<T | undefined> => {
    let value: T | undefined;
    checks.push(
      await check(name, async () => {
        value = await find();
        return ok(describe(value));
      }),
    );
    return value;
  };
  const config = (await found('temporal.config', async () => loadConfig(cwd), describeKeys)) ?? {};
  const mcp = await found(
    'MCP configuration',
    async () => loadMcp({ cwd, mcpFile, config }),
    ({ source }) => source ?? 'none: no --mcp, no mcp.json here, no `mcpServers` in temporal.config',
  );
  const home = await found(
    'home',
    async () => openHome(env, cwd, config.home),
    ({ folder }) => `${folder} can be written`,
  );
  if (home !== undefined) {
    checks.push(await check('disk', async () => checkHome(home)));
    checks.push(await check('file store', async () => checkStore(openStore(home, env, config, 'longshore-doctor'))));
  }
  const named = await found(
    'Temporal setting',
    async () => namedServer(env, config.temporal),
    (server) =>
      server === null
        ? 'no server is named: the embedded one is used'
        : `${server.setting} names ${server.connectionOptions.address}`,
  );
  if (named) {
    const reachable = await check('Temporal server', async () => checkNamed(named));
    checks.push(reachable);
    if (reachable.status !== 'missing') checks.push(await check('pacing', async () => checkPacing(named)));
  } else if (named === null) {
    const cli = await check('Temporal CLI', async () => checkCli(env, output.note));
    checks.push(cli);
    const options = { kind: 'read', env, log: output.note, extraArgs: config.server?.extraArgs ?? [] } as const;
    if (cli.status === 'ok' && home !== undefined) {
      checks.push(await check('embedded server', async () => checkEmbedded(home, options)));
    }
  }
  checks.push(await check('model', async () => checkModel(env, config)));
  if (mcp !== undefined) {
    // `checkConfig` has proved that these came from `defineLocalServer`.
    const local = (config.localServers ?? []) as readonly LocalServer[];
    checks.push(...(await checkMcpServers(mcp, env, local)));
  }
  return checks;
}

function describeKeys(config: LongshoreConfig): string {
  const keys = Object.keys(config);
  return keys.length === 0 ? 'not there, or empty: every setting has a default' : `sets ${keys.join(', ')}`;
}
