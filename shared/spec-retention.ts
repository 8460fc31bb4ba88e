// Rules of retention that refer to each other: a tool's class must be one that the spec has.
import { isObject } from './json.ts';
import { formatPath, suggest, type SpecFault } from './spec-fault.ts';

/** Classes that tools name and `config.retention.classes` does not have, each with the nearest one. */
export function unknownClasses(value: Record<string, unknown>): readonly SpecFault[] {
  const config = isObject(value['config']) ? value['config'] : {};
  const retention = isObject(config['retention']) ? config['retention'] : {};
  const classes = isObject(retention['classes']) ? Object.keys(retention['classes']) : [];
  const servers: readonly unknown[] = Array.isArray(value['mcp_servers']) ? value['mcp_servers'] : [];
  return servers.flatMap((server, index) =>
    toolsOf(server).flatMap(([tool, name]) => {
      if (name === null || classes.includes(name)) return [];
      const path = formatPath(['mcp_servers', index, 'tool_settings', tool, 'retention', 'class']);
      const mend = `Add it under \`config.retention.classes\`${classes.length === 0 ? '.' : `, or take another. ${suggest(name, classes)}`}`;
      return [{ path, message: `there is no retention class \`${name}\``, mend }];
    }),
  );
}

/** The class that each tool of a server names, null where it names none. */
function toolsOf(server: unknown): readonly (readonly [string, string | null])[] {
  if (!isObject(server) || !isObject(server['tool_settings'])) return [];
  return Object.entries(server['tool_settings']).map(([tool, settings]) => {
    const retention = isObject(settings) && isObject(settings['retention']) ? settings['retention'] : {};
    return [tool, typeof retention['class'] === 'string' ? retention['class'] : null] as const;
  });
}
