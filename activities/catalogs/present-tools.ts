// What servers offer now, by their last listing: hashes of schemas, one server at a time. A listing counts as long as its
// connection lives and the server did not say that its list changed; then it is asked for anew, once for all who wait.
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { ActivityDependencies } from '../dependencies.ts';
import type { ToolTag } from '../../shared/catalog.ts';
import { tagsOf } from '../../shared/policy.ts';
import type { ToolListing } from '../../shared/tool-server.ts';
import { cleanedSchema, schemaHashOf } from './clean-schema.ts';

/** Schemas are hashed on the event loop: so many at once. */
const CHUNK_TOOLS = 64;

/** What a server offers now. */
export interface Offered {
  /** Hashes of input schemas, by tool. */
  readonly hashes: ReadonlyMap<string, string>;
  /** What each may do, by its annotations. */
  readonly tags: ReadonlyMap<string, readonly ToolTag[]>;
  /** Of tools that cannot be used as they are now: why. */
  readonly problems: ReadonlyMap<string, string>;
  /** Set where it was asked just now. */
  readonly listing?: ToolListing;
}

/** With the listing itself. */
type Asked = Offered & { readonly listing: ToolListing };

/** The listings of a Worker's servers. */
export interface PresentTools {
  /** Somebody has listed a server; the hashes are those of `schemaHashOf`, by tool. */
  remember(server: string, listing: ToolListing, hashes: ReadonlyMap<string, string>): void;
  /** Raises what listing raises; the signal's reason. */
  of(server: string, signal: AbortSignal): Promise<Offered>;
  /** The same, asked now in any case. */
  asked(server: string, signal: AbortSignal): Promise<Asked>;
}

interface Remembered extends Offered {
  readonly isCurrent: () => boolean;
}

interface Underway {
  readonly signal: AbortSignal;
  readonly asked: Promise<Asked>;
}

/** Makes the record of a pool's servers. */
export function createPresentTools({ pool, redact }: Pick<ActivityDependencies, 'pool' | 'redact'>): PresentTools {
  const known = new Map<string, Remembered>();
  const underway = new Map<string, Underway>();

  function remember(server: string, listing: ToolListing, hashes: ReadonlyMap<string, string>): Offered {
    const problems = new Map(listing.problems.map(({ tool, problem }) => [tool, redact(problem)]));
    const tags = new Map(listing.tools.map(({ name, annotations }) => [name, tagsOf(annotations)]));
    const offered = { hashes, tags, problems };
    known.set(server, { ...offered, isCurrent: listing.isCurrent ?? (() => false) });
    return offered;
  }

  async function asked(server: string, signal: AbortSignal): Promise<Asked> {
    const listing = await pool.server(server).listTools(signal);
    return { ...remember(server, listing, await hashesOf(listing, redact)), listing };
  }

  async function shared(server: string, signal: AbortSignal): Promise<Offered> {
    for (;;) {
      signal.throwIfAborted();
      const other = underway.get(server);
      if (other === undefined) {
        const own = asked(server, signal).finally(() => underway.delete(server));
        underway.set(server, { signal, asked: own });
        return own;
      }
      try {
        return await Promise.race([other.asked, aborted(signal)]);
      } catch (error) {
        // Of one who gave up, the next one asks; what went wrong with the server is everybody's.
        if (signal.aborted || !other.signal.aborted) throw error;
      }
    }
  }

  return {
    remember: (server, listing, hashes) => void remember(server, listing, hashes),
    asked,
    of: async (server, signal) => {
      const last = known.get(server);
      return last?.isCurrent() === true ? last : shared(server, signal);
    },
  };
}

async function hashesOf(listing: ToolListing, redact: (text: string) => string): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  for (const [index, { name, inputSchema }] of listing.tools.entries()) {
    if (index % CHUNK_TOOLS === CHUNK_TOOLS - 1) await nextLoop();
    hashes.set(name, schemaHashOf(cleanedSchema(inputSchema, redact)));
  }
  return hashes;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
