// `${NAME}` in a server's configuration, from the Worker's environment, at the moment of use.
import { LongshoreError } from '../../shared/errors.ts';
import { expandVariables, type Environment } from '../../shared/mcp-config-schema.ts';

/** Expands one text; raises `EnvironmentMissing`, which names the variable and where it stands. */
export type Expand = (text: string, where: string) => string;

/** The expander of a server's entry. */
export function createExpand(server: string, env: Environment): Expand {
  return (text, where) => {
    const expanded = expandVariables(text, env);
    if ('text' in expanded) return expanded.text;
    const missing = expanded.missing.join(', ');
    throw new LongshoreError(
      'EnvironmentMissing',
      `MCP server \`${server}\` needs ${missing} (in its \`${where}\`), which the Worker's environment does not set`,
      `Set ${missing} where the Worker runs, or take it out of the server's entry.`,
    );
  };
}

/** Expands every value of a record. */
export function expandRecord(
  record: Readonly<Record<string, string>>,
  expand: Expand,
  where: string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record).map(([key, text]) => [key, expand(text, `${where}.${key}`)]));
}
