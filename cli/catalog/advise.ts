// What `catalog advise` prints and draws: how each server is best set, by what the recorded turns would have cost.
import { resolve } from 'node:path';
import { LongshoreError } from '../../shared/errors.ts';
import type { CommandContext } from '../command.ts';
import { visible } from '../waiting-lines.ts';
import { withProjectClient } from '../with-client.ts';
import { writeTarget } from '../write-target.ts';
import { adviceLines } from './advice-lines.ts';
import { adviceFor, type AgentAdvice } from './agent-advice.ts';
import { plotPage, plotSvg } from './plot.ts';
import { recordedTurns, type UnreadTurn } from './recorded-turns.ts';

/** As many turns that cannot be read are named. */
const MOST_NAMED = 5;

/** What is asked for. */
export interface AdviseOptions {
  /** At most so many turns, the newest. */
  readonly turns: number;
  /** This server alone. */
  readonly server?: string;
  readonly plot?: string;
}

/** Prints it. Raises `CatalogNotFound` where no turn names the server that is asked for, `UsageInvalid` for another kind of plot. */
export async function adviseCatalog(options: AdviseOptions, context: CommandContext): Promise<void> {
  const draw = options.plot === undefined ? null : drawerOf(options.plot);
  await withProjectClient(context, async ({ client, store }) => {
    const { agents, unread } = await recordedTurns(client, options.turns);
    const advised: AgentAdvice[] = [];
    for (const agent of agents) advised.push(onlyServer(await adviceFor(agent, store), options.server));
    requireServer(advised, options);
    const { output, cwd } = context;
    for (const line of unreadLines(unread)) output.note(line);
    const turns = agents.reduce((sum, agent) => sum + agent.turns.length, 0);
    if (options.plot !== undefined && draw) {
      await writeTarget(resolve(cwd, options.plot), toBytes(draw(advised)));
      output.note(`The plot is in ${options.plot}.`);
    }
    if (output.isJson) output.json({ turns, agents: advised });
    else for (const line of adviceLines(advised, output.paint)) output.line(line);
  });
}

function unreadLines(unread: readonly UnreadTurn[]): readonly string[] {
  const named = unread.slice(0, MOST_NAMED).map(({ workflowId, message }) => {
    return visible(`Turn ${workflowId} cannot be read, and is left out: ${message.slice(0, 300)}`);
  });
  const others = unread.length - named.length;
  return others > 0 ? [...named, `${others} more turns cannot be read, and are left out.`] : named;
}

function onlyServer(advice: AgentAdvice, server: string | undefined): AgentAdvice {
  if (server === undefined) return advice;
  return {
    ...advice,
    servers: advice.servers.filter((one) => one.server === server),
    unknown: advice.unknown.filter((name) => name === server),
  };
}

function requireServer(advised: readonly AgentAdvice[], { server }: AdviseOptions): void {
  if (server === undefined || advised.some(({ servers, unknown }) => servers.length + unknown.length > 0)) return;
  throw new LongshoreError(
    'CatalogNotFound',
    `None of the turns looked at names a server \`${server}\``,
    'Leave --server out to see those they name, or look at more turns with --turns.',
  );
}

function drawerOf(file: string): (advised: readonly AgentAdvice[]) => string {
  if (/\.svg$/i.test(file)) return plotSvg;
  if (/\.html?$/i.test(file)) return plotPage;
  throw new LongshoreError(
    'UsageInvalid',
    `--plot ${file} ends in neither .svg nor .html`,
    'Name a file with one of these endings.',
  );
}

async function* toBytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
