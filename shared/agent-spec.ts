// The agent spec as the turn sees it: checked, defaults filled in. The check itself is in `spec-schema.ts`.
import type { ApprovalSettings } from './approvals.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { UserMessage } from './messages.ts';
import type { RetentionRule, RetentionSettings } from './retention.ts';

/** Limits of placement, in tokens; the preview in characters. Source: architecture D4. */
export interface LargeToolResponse {
  /** @default true */
  readonly enabled: boolean;
  /** @default 6000 (12000 in a subagent) */
  readonly per_result_tokens: number;
  /** @default 10000 */
  readonly per_step_tokens: number;
  /** Characters shown of each end. @default 100 */
  readonly preview_characters: number;
  /** What one image counts in context. @default 1000 */
  readonly image_tokens: number;
}

/** Settings of one tool. */
export interface ToolSettings {
  readonly per_result_tokens?: number;
  readonly retention?: RetentionRule;
}

/** A server as the spec names it. Source: parity page. */
export interface SpecServer {
  readonly name: string;
  readonly enable_tools: readonly string[];
  readonly disable_tools: readonly string[];
  readonly preload: boolean;
  readonly preload_tools: readonly string[];
  readonly require_approval_for_tools: readonly string[];
  readonly tool_settings: { readonly [tool: string]: ToolSettings };
  /** Overrides the agent's own limit for every tool of this server. */
  readonly per_result_tokens?: number;
}

/** The form of the answer. */
export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly json_schema: {
        readonly name: string;
        readonly description?: string;
        readonly schema: JsonObject;
        readonly strict?: boolean;
      };
    };

/** Hard limits of a turn beside `iteration_limit`; absent means without limit. Source: architecture D14. */
export interface Budgets {
  /** Input and output tokens of all model calls, as the provider reports them. */
  readonly tokens?: number;
  /** US dollars, by the prices in `temporal.config.ts`. */
  readonly cost_usd?: number;
  /** Milliseconds from the turn's start. Written as a duration (`2h`) in a spec. */
  readonly wall_time_ms?: number;
}

/** A checked agent spec with its defaults. It is frozen in the turn's input. */
export interface AgentSpec {
  readonly model: { readonly name: string; readonly params: JsonObject };
  readonly name: string;
  readonly instructions: string;
  readonly messages: readonly UserMessage[];
  readonly mcp_servers: readonly SpecServer[];
  readonly response_format: ResponseFormat;
  readonly config: {
    readonly iteration_limit: number;
    readonly context_management: {
      readonly large_tool_response: LargeToolResponse;
      /** Tokens of one answer of a discovery tool, at least 300. @default 2000 */
      readonly discovery_tokens?: number;
    };
    readonly budgets: Budgets;
    /** Absent in histories from before approvals: gated calls are then denied. */
    readonly approvals?: ApprovalSettings;
    readonly retention?: RetentionSettings;
    /** Whether the agent has `ask_user_question`. @default true */
    readonly ask_user_questions?: { readonly enabled: boolean };
    /** What later releases act on; carried as written. */
    readonly other: { readonly [key: string]: JsonValue };
  };
}
