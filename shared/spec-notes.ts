// What of a valid spec is carried but not acted on yet, and what was decided for its writer. A spec is never refused for
// these: it says the same to a later release.
import type { SpecNote } from './spec-fault.ts';
import { DEFAULT_LARGE_TOOL_RESPONSE } from './spec-normalize.ts';
import type { WrittenServer, WrittenSpec } from './spec-schema.ts';

type WrittenConfig = NonNullable<WrittenSpec['config']>;

/** All notes on a spec that has the right form, in the order of its keys. */
export function notesOf(spec: WrittenSpec): readonly SpecNote[] {
  const servers = spec.mcp_servers ?? [];
  const config = spec.config ?? {};
  return [
    ...servers.flatMap((server, index) => serverNotes(server, index)),
    ...(spec.skills?.length ? [note('skills', 'Skills are not built yet; the names are carried.')] : []),
    ...sandboxNotes(config.sandbox),
    ...featureNotes(config),
    ...contextNotes(config.context_management),
    ...laterNotes(config),
  ];
}

function serverNotes(server: WrittenServer, index: number): readonly SpecNote[] {
  const at = `mcp_servers.${index}`;
  const offersNothing = server.enable_tools?.length === 0 || server.disable_tools?.includes('@all');
  return [
    ...(server.preload && server.preload_tools?.length
      ? [note(`${at}.preload`, '`preload_tools` is not empty, so `preload` counts as false.')]
      : []),
    ...(offersNothing ? [note(at, `The agent gets no tool of \`${server.name}\`.`)] : []),
  ];
}

function sandboxNotes(sandbox: WrittenConfig['sandbox']): readonly SpecNote[] {
  if (!sandbox) return [];
  const message = sandbox.enabled
    ? 'The shell (`exec`) and Code Mode are not built yet; the file tools of the built-in server `sandbox` are there.'
    : 'The file tools of the built-in server `sandbox` stay: they read what tools have left in files.';
  return [
    note('config.sandbox', message),
    ...(sandbox.file_downloads === false
      ? [note('config.sandbox.file_downloads', 'Not acted on yet: who can read the file store can fetch its files.')]
      : []),
    ...(sandbox.network_policy
      ? [note('config.sandbox.network_policy', 'Left out, not carried: its passwords would stand in Workflow history.')]
      : []),
  ];
}

function featureNotes(config: WrittenConfig): readonly SpecNote[] {
  const features = {
    dynamic_sub_agents: 'Subagents are',
    generative_ui: 'A generated user interface is',
  } as const;
  return (Object.keys(features) as (keyof typeof features)[])
    .filter((key) => config[key] !== undefined && config[key].enabled !== false)
    .map((key) => note(`config.${key}`, `${features[key]} not built yet; the setting is carried.`));
}

function contextNotes(context: WrittenConfig['context_management']): readonly SpecNote[] {
  const notes: SpecNote[] = [];
  const limits = context?.large_tool_response;
  const perResult = limits?.per_result_tokens ?? DEFAULT_LARGE_TOOL_RESPONSE.per_result_tokens;
  const perStep = limits?.per_step_tokens ?? DEFAULT_LARGE_TOOL_RESPONSE.per_step_tokens;
  if (perStep < perResult) {
    const message =
      `${perStep} is below the ${perResult} tokens of one result: ` +
      'a result between the two goes to a file by the rule of the step.';
    notes.push(note('config.context_management.large_tool_response.per_step_tokens', message));
  }
  const compaction = context?.compaction;
  if (compaction && compaction.enabled !== false) {
    notes.push(note('config.context_management.compaction', 'Compaction is not built yet; the setting is carried.'));
  }
  if (compaction?.trigger && compaction.compaction_threshold_tokens !== undefined) {
    const message = '`trigger` counts; this older key beside it does not.';
    notes.push(note('config.context_management.compaction.compaction_threshold_tokens', message));
  }
  return notes;
}

function laterNotes(config: WrittenConfig): readonly SpecNote[] {
  const { on_deadline: atDeadline, deadline } = config.approvals ?? {};
  const endless = 'No `deadline` is set, so that this never acts: calls wait without an end.';
  if (atDeadline === undefined || deadline !== undefined) return [];
  return [note('config.approvals.on_deadline', endless)];
}

function note(path: string, message: string): SpecNote {
  return { path, message };
}
