// Fills in the defaults of a spec that has the right form. Source of defaults: the parity page of the reference.
import type { AgentSpec, Budgets, LargeToolResponse, SpecServer, ToolSettings } from './agent-spec.ts';
import type { ApprovalSettings } from './approvals.ts';
import { parseDuration } from './duration.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { UserMessage } from './messages.ts';
import { DEFAULT_AFTER_TURN_MS, type RetentionRule, type RetentionSettings } from './retention.ts';
import type { WrittenServer, WrittenSpec } from './spec-schema.ts';

/** @default of `large_tool_response` for the root agent. Source: architecture D4. */
export const DEFAULT_LARGE_TOOL_RESPONSE: LargeToolResponse = {
  enabled: true,
  per_result_tokens: 6000,
  per_step_tokens: 10_000,
  preview_characters: 100,
  image_tokens: 1000,
};

/** @default of `require_approval_for_tools` */
export const DEFAULT_APPROVAL_SELECTORS: readonly string[] = ['@write', '@destructive'];

/** @default of `config.iteration_limit` */
const DEFAULT_ITERATION_LIMIT = 100;

/** The spec with its defaults, plain JSON without `undefined`. */
export function normalizeSpec(written: WrittenSpec): AgentSpec {
  const config = written.config ?? {};
  const discoveryTokens = config.context_management?.discovery_tokens;
  return {
    model: { name: written.model.name, params: jsonObject(written.model.params) },
    name: written.name ?? 'agent',
    instructions: written.instructions ?? '',
    messages: asJson(written.messages ?? []) as readonly UserMessage[],
    mcp_servers: (written.mcp_servers ?? []).map((server) =>
      normalizeServer(server, normalizeRetention(config.retention ?? {})),
    ),
    response_format: asJson(written.response_format ?? { type: 'text' }) as AgentSpec['response_format'],
    config: {
      iteration_limit: config.iteration_limit ?? DEFAULT_ITERATION_LIMIT,
      context_management: {
        large_tool_response: {
          ...DEFAULT_LARGE_TOOL_RESPONSE,
          ...defined(config.context_management?.large_tool_response),
        },
        ...(discoveryTokens === undefined ? {} : { discovery_tokens: discoveryTokens }),
      },
      budgets: normalizeBudgets(config.budgets ?? {}),
      approvals: normalizeApprovals(config.approvals ?? {}),
      retention: normalizeRetention(config.retention ?? {}),
      ask_user_questions: { enabled: config.ask_user_questions?.enabled ?? true },
      other: otherSettings(written),
    },
  };
}

function normalizeServer(server: WrittenServer, retention: RetentionSettings): SpecServer {
  const preloadTools = server.preload_tools ?? [];
  return {
    name: server.name,
    enable_tools: server.enable_tools ?? ['@all'],
    disable_tools: server.disable_tools ?? [],
    preload: preloadTools.length === 0 && (server.preload ?? false),
    preload_tools: preloadTools,
    require_approval_for_tools: server.require_approval_for_tools ?? DEFAULT_APPROVAL_SELECTORS,
    tool_settings: Object.fromEntries(
      Object.entries(server.tool_settings ?? {}).map(([tool, settings]) => [tool, normalizeTool(settings, retention)]),
    ),
    ...(server.per_result_tokens === undefined ? {} : { per_result_tokens: server.per_result_tokens }),
  };
}

type WrittenConfig = NonNullable<WrittenSpec['config']>;
type WrittenTool = NonNullable<WrittenServer['tool_settings']>[string];

function normalizeTool(settings: WrittenTool, defaults: RetentionSettings): ToolSettings {
  const { per_result_tokens: limit, retention } = settings;
  return {
    ...(limit === undefined ? {} : { per_result_tokens: limit }),
    ...(retention && { retention: normalizeRule(retention, defaults) }),
  };
}

function normalizeApprovals(approvals: NonNullable<WrittenConfig['approvals']>): ApprovalSettings {
  const deadlineMs = milliseconds(approvals.deadline);
  const remindAfterMs = milliseconds(approvals.remind_after);
  const grantForMs = milliseconds(approvals.grant_for);
  return {
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(remindAfterMs === undefined ? {} : { remindAfterMs }),
    onDeadline: approvals.on_deadline ?? 'expire',
    ...(grantForMs === undefined ? {} : { grantForMs }),
  };
}

function normalizeRetention(retention: NonNullable<WrittenConfig['retention']>): RetentionSettings {
  const own = normalizeRule(retention, { afterTurnMs: DEFAULT_AFTER_TURN_MS, classes: {} });
  const classes = Object.entries(retention.classes ?? {}).map(([name, rule]) => [
    name,
    { ...normalizeRule(rule, { ...own, classes: {} }), class: name },
  ]);
  return { ...own, classes: Object.fromEntries(classes) };
}

/** A rule with what it leaves open taken from its class, else from the defaults. */
function normalizeRule(
  rule: {
    readonly after_turn?: string | undefined;
    readonly max_age?: string | undefined;
    readonly class?: string | undefined;
  },
  defaults: RetentionSettings,
): RetentionRule {
  const named = rule.class === undefined ? undefined : defaults.classes[rule.class];
  const base = named ?? defaults;
  const maxAgeMs = milliseconds(rule.max_age) ?? base.maxAgeMs;
  return {
    ...(rule.class === undefined ? {} : { class: rule.class }),
    afterTurnMs: milliseconds(rule.after_turn) ?? base.afterTurnMs,
    ...(maxAgeMs === undefined ? {} : { maxAgeMs }),
  };
}

function milliseconds(duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : (parseDuration(duration) ?? undefined);
}

function normalizeBudgets(budgets: NonNullable<WrittenConfig['budgets']>): Budgets {
  const wallTimeMs = budgets.wall_time === undefined ? null : parseDuration(budgets.wall_time);
  return {
    ...(budgets.tokens === undefined ? {} : { tokens: budgets.tokens }),
    ...(budgets.cost_usd === undefined ? {} : { cost_usd: budgets.cost_usd }),
    ...(wallTimeMs === null ? {} : { wall_time_ms: wallTimeMs }),
  };
}

/**
 * What later releases act on, as written. `sandbox.network_policy` is left out: it holds passwords, and a spec stands in
 * Workflow history (architecture D15).
 */
function otherSettings(written: WrittenSpec): { readonly [key: string]: JsonValue } {
  const config = written.config ?? {};
  const { network_policy: _left_out, ...sandbox } = config.sandbox ?? {};
  return jsonObject({
    sandbox: config.sandbox && sandbox,
    dynamic_sub_agents: config.dynamic_sub_agents,
    generative_ui: config.generative_ui,
    compaction: config.context_management?.compaction,
    skills: written.skills,
  });
}

function jsonObject(value: Record<string, unknown> | undefined): JsonObject {
  return asJson(value ?? {}) as JsonObject;
}

/** Members without a value, left out: a spread would else put them over a default. */
function defined<T extends object>(value: T | undefined): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return asJson(value ?? {}) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** A copy as plain JSON: members that are `undefined` are gone, so a cast to the type without them is true. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
