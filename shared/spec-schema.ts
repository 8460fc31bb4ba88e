// The form of an agent spec as people write it. Rules between keys stand in `spec-check.ts`, defaults in
// `spec-normalize.ts`. Source of names and ranges: the parity page of the reference.
import { z } from 'zod';
import { LEAST_DISCOVERY_TOKENS } from './discovery-tools.ts';
import { DURATION_FORM, parseDuration } from './duration.ts';
import type { JsonValue } from './json.ts';
import { BUILT_IN_SERVERS } from './sandbox-tools.ts';
import { numberFrom, someText, textThat, wholeNumber } from './spec-form.ts';
import { nearest } from './spec-nearest.ts';
import { userMessageSchema } from './user-message-schema.ts';

/** What `enable_tools`, `disable_tools` and `preload_tools` take beside names of tools. */
const TOOL_SELECTORS = ['@all', '@read-only'] as const;
/** What `require_approval_for_tools` takes beside names of tools. */
const APPROVAL_SELECTORS = ['@all', '@write', '@destructive'] as const;
/** Nesting of values that are passed on as they are. */
const MAX_DEPTH = 64;

const MAX_TOKENS = 10_000_000;

const flag = z.boolean();

const duration = textThat(
  (text) => parseDuration(text) !== null,
  DURATION_FORM,
  'Write one number and one unit: ms, s, m, h or d; ten years at most.',
);

const positiveDuration = textThat(
  (text) => (parseDuration(text) ?? 0) > 0,
  `${DURATION_FORM}, longer than 0`,
  'Write one number and one unit: ms, s, m, h or d; ten years at most.',
);

const json = z.unknown().refine((value) => isJsonSafe(value), { error: 'a value that JSON can hold' });
const jsonObject = z.record(z.string(), json, { error: 'an object' });

const model = z.strictObject({
  name: textThat(
    (name) => /^[^\s/]+\/\S(?:.*\S)?$/.test(name),
    'provider/model, as in openai/gpt-5-mini',
    'Write the provider, a slash, and the model as the provider names it.',
  ),
  params: z
    .object({
      max_tokens: wholeNumber(1, MAX_TOKENS).optional(),
      temperature: numberFrom(0).optional(),
      top_p: numberFrom(0, 1).optional(),
      top_k: wholeNumber(0, MAX_TOKENS).optional(),
      parallel_tool_calls: flag.optional(),
      reasoning_effort: someText().optional(),
    })
    .catchall(json)
    .optional(),
});

const retention = z.strictObject({ after_turn: duration.optional(), max_age: positiveDuration.optional() });

const toolSettings = z.strictObject({
  per_result_tokens: wholeNumber(1, MAX_TOKENS).optional(),
  retention: z.strictObject({ ...retention.shape, class: someText().optional() }).optional(),
});

const server = z.strictObject({
  name: someText().refine((name) => !BUILT_IN_SERVERS.includes(name), {
    error: 'a name other than those of the built-in servers',
    params: {
      mend: 'Remove the entry: `sandbox`, `longshore` and `discovery` are built in. Or give your own server another name.',
    },
  }),
  enable_tools: selectors(TOOL_SELECTORS),
  disable_tools: selectors(TOOL_SELECTORS),
  preload: flag.optional(),
  preload_tools: selectors(TOOL_SELECTORS),
  require_approval_for_tools: selectors(APPROVAL_SELECTORS),
  tool_settings: z.record(someText(), toolSettings, { error: 'an object with a tool name for each key' }).optional(),
  per_result_tokens: wholeNumber(1, MAX_TOKENS).optional(),
});

const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: someText(),
      description: z.string().optional(),
      schema: jsonObject,
      strict: flag.optional(),
    }),
  }),
]);

const compaction = z.strictObject({
  enabled: flag.optional(),
  trigger: z.strictObject({ type: z.literal('input_tokens'), value: wholeNumber(1, MAX_TOKENS) }).optional(),
  compaction_threshold_tokens: wholeNumber(1, MAX_TOKENS).optional(),
});

const largeToolResponse = z.strictObject({
  enabled: flag.optional(),
  per_result_tokens: wholeNumber(1, MAX_TOKENS).optional(),
  per_step_tokens: wholeNumber(1, MAX_TOKENS).optional(),
  preview_characters: wholeNumber(0, 10_000).optional(),
  image_tokens: wholeNumber(0, 1_000_000).optional(),
});

const feature = z.strictObject({ enabled: flag.optional() });

const config = z.strictObject({
  iteration_limit: wholeNumber(1, 1024).optional(),
  sandbox: z
    .strictObject({ enabled: flag, file_downloads: flag.optional(), network_policy: jsonObject.optional() })
    .optional(),
  ask_user_questions: feature.optional(),
  dynamic_sub_agents: feature.optional(),
  generative_ui: feature.optional(),
  context_management: z
    .strictObject({
      large_tool_response: largeToolResponse.optional(),
      compaction: compaction.optional(),
      discovery_tokens: wholeNumber(LEAST_DISCOVERY_TOKENS, MAX_TOKENS).optional(),
    })
    .optional(),
  approvals: z
    .strictObject({
      deadline: positiveDuration.optional(),
      remind_after: positiveDuration.optional(),
      on_deadline: z.enum(['expire', 'deny', 'approve']).optional(),
      grant_for: positiveDuration.optional(),
    })
    .optional(),
  retention: z.strictObject({ ...retention.shape, classes: z.record(someText(), retention).optional() }).optional(),
  budgets: z
    .strictObject({
      tokens: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
      cost_usd: z.number({ error: 'a number above 0' }).positive({ error: 'a number above 0' }).optional(),
      wall_time: positiveDuration.optional(),
    })
    .optional(),
});

/** The form of a spec. */
export const specSchema = z.strictObject({
  model,
  name: textThat(
    (name) => /^[A-Za-z0-9_-]{1,64}$/.test(name),
    'a name of letters, digits, - and _, at most 64',
    'Use letters, digits, - and _ only.',
  ).optional(),
  instructions: z.string().optional(),
  messages: z.array(userMessageSchema).optional(),
  mcp_servers: z.array(server).optional(),
  response_format: responseFormat.optional(),
  skills: z
    .array(
      z.strictObject({
        name: textThat(
          (name) => /^[A-Za-z0-9._-]{1,64}$/.test(name),
          'a name of letters, digits, ., - and _, at most 64',
          'Use the name under which the skill is configured.',
        ),
      }),
    )
    .optional(),
  config: config.optional(),
});

/** A spec that has the right form, as it was written. */
export type WrittenSpec = z.output<typeof specSchema>;
/** A server as it was written. */
export type WrittenServer = z.output<typeof server>;

/** The form of a spec as JSON Schema (draft 2020-12), for editors and the reference. Rules between keys are not in it. */
export function specJsonSchema(): unknown {
  return z.toJSONSchema(specSchema, { io: 'input', unrepresentable: 'any' });
}

/** Whether JSON can hold a value without loss: finite numbers, plain objects and arrays, no cycle, 64 levels at most. */
export function isJsonSafe(value: unknown, depth = 0): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isJsonSafe(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((member) => isJsonSafe(member, depth + 1));
}

function selectors(tags: readonly string[]) {
  return z
    .array(
      z
        .string({ error: 'a selector or the name of a tool' })
        .superRefine((text, context) => checkSelector(text, tags, context)),
    )
    .optional();
}

function checkSelector(text: string, tags: readonly string[], context: z.RefinementCtx<string>): void {
  if (text.trim() !== '' && (!text.startsWith('@') || tags.includes(text))) return;
  const near = nearest(text, tags);
  const mend = `${near === null ? '' : `Did you mean ${near}? `}Selectors here: ${tags.join(', ')}; or the name of a tool.`;
  context.addIssue({ code: 'custom', message: `${tags.join(', ')} or the name of a tool`, params: { mend } });
}
