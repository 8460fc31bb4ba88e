// What the Workflow knows of the built-in server: its name, and which of its tools read.

/** The built-in server: always there, never gated, touches the agent's own files only. */
export const SANDBOX_SERVER = 'sandbox';

/** Tools whose answers never go to files, and whose third identical use in a turn is refused. Source: parity page. */
export const SANDBOX_READ_TOOLS: readonly string[] = ['read_file', 'search_file', 'infer_schema', 'query_json'];

/** How often one and the same read is answered before it is refused. */
export const IDENTICAL_READS_ALLOWED = 2;
