// What a server says of a tool's effects. Apart from the seam to tools, since Workflow code knows no servers.

/** MCP's hints on a tool. Absent means unknown, which counts as a write. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}
