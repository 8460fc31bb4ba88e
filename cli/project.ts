// What a command works with in its folder: settings, MCP servers, home, and the Temporal server that goes with them.
import type { LongshoreConfig } from '../shared/config.ts';
import type { AttachmentKind, TemporalServer } from '../worker/dev-server.ts';
import { connectTemporal } from '../worker/dev-server.ts';
import type { Home } from '../worker/home.ts';
import { findHome, openHome } from '../worker/home.ts';
import { loadConfig, loadMcp, type LoadedMcp } from './load-config.ts';
import type { CommandContext } from './command.ts';

/** The Task Queue of Longshore's Workflows and Activities. Source: architecture, section 4. */
export const DEFAULT_TASK_QUEUE = 'longshore';

/** Everything that does not need a server. */
export interface Project {
  readonly config: LongshoreConfig;
  readonly mcp: LoadedMcp;
  readonly home: Home;
  readonly taskQueue: string;
}

/** What the command line says. */
export interface ProjectOptions {
  /** The value of --mcp. */
  readonly mcp?: string | undefined;
  /** The spec's path; `mcp.json` beside it counts. */
  readonly spec?: string | undefined;
  /** The value of --task-queue. */
  readonly taskQueue?: string | undefined;
  /** Whether the command is to write into the home, which is proven first. @default false */
  readonly writes?: boolean;
}

/** Loads and opens it all. @throws `ConfigInvalid`, `McpConfigInvalid`, `HomeUnusable`. */
export async function openProject(context: CommandContext, options: ProjectOptions = {}): Promise<Project> {
  const { env, cwd } = context;
  const config = await loadConfig(cwd);
  const mcp = await loadMcp({ cwd, mcpFile: options.mcp, specFile: options.spec, config });
  const home = await (options.writes === true ? openHome : findHome)(env, cwd, config.home);
  return { config, mcp, home, taskQueue: options.taskQueue ?? config.taskQueue ?? DEFAULT_TASK_QUEUE };
}

/** The project's Temporal server, brought up if it is the embedded one. Release `embedded` in the end. */
export async function connectProject(
  project: Pick<Project, 'config' | 'home'>,
  kind: AttachmentKind,
  context: CommandContext,
): Promise<TemporalServer> {
  return connectTemporal(context.env, project.home, {
    kind,
    log: context.output.note,
    configured: project.config.temporal,
    extraArgs: project.config.server?.extraArgs ?? [],
  });
}
