// What the Workflow knows of the built-in servers: their names, and which of the tools read.
import { DISCOVERY_SERVER } from './discovery-tools.ts';

/** The built-in server: always there, never gated, touches the agent's own files only. */
export const SANDBOX_SERVER = 'sandbox';

/** The built-in server of what the Workflow itself does; it has no Activity. */
export const PEOPLE_SERVER = 'longshore';

/** Names that no other server may have. */
export const BUILT_IN_SERVERS: readonly string[] = [SANDBOX_SERVER, PEOPLE_SERVER, DISCOVERY_SERVER];

/** The tool of `longshore` that asks a person; its name towards the model is the same. Source: parity page. */
export const ASK_USER_QUESTION = 'ask_user_question';

/** Tools whose answers never go to files, and whose third identical use in a turn is refused. Source: parity page. */
export const SANDBOX_READ_TOOLS: readonly string[] = ['read_file', 'search_file', 'infer_schema', 'query_json'];

/** How often one and the same read is answered before it is refused. */
export const IDENTICAL_READS_ALLOWED = 2;
