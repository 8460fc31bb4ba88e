// Local tools for tests, in a line each, and gates that hold a call until the test lets it go.
import { z } from 'zod';
import {
  defineLocalServer,
  defineLocalTool,
  type LocalServer,
  type LocalTool,
  type LocalToolContext,
  type LocalToolOutput,
} from '../../activities/mcp/local.ts';

const anything = z.looseObject({});

/** What a test's tool does. */
export type ToolRun = (
  args: Readonly<Record<string, unknown>>,
  context: LocalToolContext,
) => LocalToolOutput | Promise<LocalToolOutput>;

/** A tool that only reads, whatever its arguments. */
export function reader(name: string, run: ToolRun): LocalTool {
  return defineLocalTool({
    name,
    description: `Reads: ${name}.`,
    inputSchema: anything,
    annotations: { readOnlyHint: true },
    run,
  });
}

/** A tool that writes and says nothing of itself. */
export function writer(name: string, run: ToolRun): LocalTool {
  return defineLocalTool({ name, description: `Writes: ${name}.`, inputSchema: anything, run });
}

/** A server `desk` of these tools. */
export function deskOf(...tools: readonly LocalTool[]): LocalServer {
  return defineLocalServer({ name: 'desk', tools });
}

/** A spec's entry for `desk`, nothing of it gated. */
export const openDesk = { mcp_servers: [{ name: 'desk', preload: true, require_approval_for_tools: [] }] };

/** Holds calls by name until they are let go; a call may be let go before it comes. */
export class Gates {
  private readonly gates = new Map<
    string,
    { readonly reached: PromiseWithResolvers<void>; readonly open: PromiseWithResolvers<void> }
  >();

  /** Waits at the gate; rejects when the signal aborts. */
  async pass(name: string, signal?: AbortSignal): Promise<void> {
    const gate = this.gate(name);
    gate.reached.resolve();
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(new Error('aborted at the gate'));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([gate.open.promise, aborted.promise]);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Settles when somebody has come to the gate. */
  reached(name: string): Promise<void> {
    return this.gate(name).reached.promise;
  }

  /** Opens the gate for good. */
  open(name: string): void {
    this.gate(name).open.resolve();
  }

  private gate(name: string): {
    readonly reached: PromiseWithResolvers<void>;
    readonly open: PromiseWithResolvers<void>;
  } {
    const known = this.gates.get(name);
    if (known) return known;
    const made = { reached: Promise.withResolvers<void>(), open: Promise.withResolvers<void>() };
    this.gates.set(name, made);
    return made;
  }
}
