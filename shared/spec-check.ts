// Checks an agent spec whole: its form, the rules between its keys, its size. All faults come at once, and beside them
// notes on what is valid but not acted on yet. Nothing here reads files or asks servers.
import type { AgentSpec } from './agent-spec.ts';
import { LongshoreError } from './errors.ts';
import { parseDuration } from './duration.ts';
import { isObject } from './json.ts';
import type { McpConfig } from './mcp-config.ts';
import { formatPath, faultList, suggest, type SpecFault, type SpecNote } from './spec-fault.ts';
import { checkForm } from './spec-form.ts';
import { normalizeSpec } from './spec-normalize.ts';
import { notesOf } from './spec-notes.ts';
import { unknownClasses } from './spec-retention.ts';
import { specSchema } from './spec-schema.ts';
import { utf8Length } from './user-message.ts';

export { parseSpecText } from './spec-text.ts';
export type { SpecFault, SpecNote } from './spec-fault.ts';

/** The largest spec, in UTF-8 bytes of its JSON; with a message of the largest size it still fits one Temporal payload. */
export const MAX_SPEC_BYTES = 786_432;

/** The outcome of a check: with faults there is no spec. */
export interface SpecCheck {
  readonly faults: readonly SpecFault[];
  readonly notes: readonly SpecNote[];
  readonly spec: AgentSpec | null;
}

/** Checks a spec as it was read from JSON or YAML; never throws. */
export function checkSpec(value: unknown): SpecCheck {
  if (value === null || value === undefined) return refused([emptyFault()]);
  const form = checkForm(specSchema, value);
  const faults = [...('faults' in form ? form.faults : []), ...crossFaults(value)];
  if ('faults' in form || faults.length > 0) return refused(faults);
  const spec = normalizeSpec(form.data);
  const sizeBytes = utf8Length(JSON.stringify(spec));
  if (sizeBytes > MAX_SPEC_BYTES) return refused([sizeFault(sizeBytes)]);
  return { faults: [], notes: notesOf(form.data), spec };
}

/** The checked spec. Raises `SpecInvalid` with all faults; `source` names where the spec came from. */
export function requireSpec(value: unknown, source: string): AgentSpec {
  const { spec, faults } = checkSpec(value);
  if (spec) return spec;
  throw specInvalid(faults, source);
}

/** The error for a spec's faults: one fault in the message itself, several as a list in the mend. */
export function specInvalid(faults: readonly SpecFault[], source: string): LongshoreError {
  const [first, ...others] = faults;
  if (first && others.length === 0) {
    return new LongshoreError(
      'SpecInvalid',
      `${source}: ${first.path === '' ? '' : `${first.path}: `}${first.message}`,
      first.mend,
    );
  }
  return new LongshoreError('SpecInvalid', `${source} has ${faults.length} faults`, faultList(faults));
}

/**
 * Servers that the spec names and nobody configured, each with those that are configured. `localServers` are the names of
 * the servers in the Worker's own process.
 */
export function checkSpecServers(
  spec: AgentSpec,
  config: McpConfig,
  localServers: readonly string[] = [],
): readonly SpecFault[] {
  const configured = [...Object.keys(config.servers), ...localServers];
  return spec.mcp_servers.flatMap(({ name }, index) => {
    if (configured.includes(name)) return [];
    const mend =
      configured.length === 0
        ? 'No server is configured: add it under `mcpServers`.'
        : `${suggest(name, configured)} Or add it under \`mcpServers\`.`;
    const path = formatPath(['mcp_servers', index, 'name']);
    return [{ path, message: `no server \`${name}\` is configured in ${config.source}`, mend }];
  });
}

/** A budget in dollars for a model without a price would never act: a fault that says so. `prices` as in the settings. */
export function checkSpecPrices(spec: AgentSpec, prices: { readonly [model: string]: unknown }): readonly SpecFault[] {
  if (spec.config.budgets.cost_usd === undefined || Object.hasOwn(prices, spec.model.name)) return [];
  const message = `no price is configured for ${spec.model.name}, so its cost cannot be counted`;
  const mend = `Add \`prices: {'${spec.model.name}': {inputPerMillionUsd: …, outputPerMillionUsd: …}}\` to temporal.config.ts, or remove the budget.`;
  return [{ path: 'config.budgets.cost_usd', message, mend }];
}

function refused(faults: readonly SpecFault[]): SpecCheck {
  return { faults, notes: [], spec: null };
}

function emptyFault(): SpecFault {
  return { path: '', message: 'The spec is empty', mend: 'Give at least `model: {name: provider/model}`.' };
}

function sizeFault(sizeBytes: number): SpecFault {
  return {
    path: '',
    message: `The spec has ${sizeBytes} bytes as JSON; the limit is ${MAX_SPEC_BYTES}`,
    mend: 'Shorten the instructions or the seed messages; put large data where a tool can read it.',
  };
}

/** Rules between keys, told of whatever else is wrong; parts of another form than expected are passed over. */
function crossFaults(value: unknown): readonly SpecFault[] {
  if (!isObject(value)) return [];
  const config = isObject(value['config']) ? value['config'] : {};
  return [
    ...duplicateServers(value['mcp_servers']),
    ...skillsWithoutSandbox(value['skills'], config),
    ...lateReminder(config),
    ...unknownClasses(value),
  ];
}

function duplicateServers(servers: unknown): readonly SpecFault[] {
  if (!Array.isArray(servers)) return [];
  const names = servers.map((server: unknown) => (isObject(server) ? server['name'] : undefined));
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    if (typeof name !== 'string' || first === index) return [];
    const path = formatPath(['mcp_servers', index, 'name']);
    return [
      { path, message: `\`${name}\` is already named at mcp_servers.${first}`, mend: 'Make one entry of the two.' },
    ];
  });
}

function skillsWithoutSandbox(skills: unknown, config: Record<string, unknown>): readonly SpecFault[] {
  const sandbox = config['sandbox'];
  if (!Array.isArray(skills) || skills.length === 0) return [];
  if (isObject(sandbox) && sandbox['enabled'] !== false) return [];
  return [
    {
      path: 'skills',
      message: 'skills need the sandbox',
      mend: 'Set `config.sandbox.enabled: true`, or remove the skills.',
    },
  ];
}

function lateReminder(config: Record<string, unknown>): readonly SpecFault[] {
  const approvals = isObject(config['approvals']) ? config['approvals'] : {};
  const deadline = durationAt(approvals, 'deadline');
  const reminder = durationAt(approvals, 'remind_after');
  if (deadline === null || reminder === null || reminder < deadline) return [];
  return [
    {
      path: 'config.approvals.remind_after',
      message: `a reminder after ${String(approvals['remind_after'])} comes no sooner than the deadline of ${String(approvals['deadline'])}`,
      mend: 'Make `remind_after` shorter than `deadline`.',
    },
  ];
}

function durationAt(holder: Record<string, unknown>, key: string): number | null {
  const text = holder[key];
  return typeof text === 'string' ? parseDuration(text) : null;
}
