// The catalogs of servers whose tools a turn looks up when it needs them: loaded on demand, once for all who wait, anew after
// a change. Loading is lent from outside, so that this is tried without Temporal. Source: architecture D12.
import { isCancellation } from '@temporalio/workflow';
import type { SpecServer } from '../shared/agent-spec.ts';
import type { LoadCatalogInput, ProposedCall } from '../shared/activities.ts';
import type { CatalogFacts, ServerCatalogFacts, ServerCatalogRef } from '../shared/catalog.ts';
import type { BlobRef } from '../shared/file-store.ts';

/** What a turn lends. */
export interface CatalogsOptions {
  readonly servers: readonly SpecServer[];
  /** What the turn began with. */
  readonly facts: Pick<CatalogFacts, 'servers' | 'catalogs'>;
  /** Asks a server what it offers; rejects when nobody could find out. */
  readonly load: (input: Omit<LoadCatalogInput, 'turn'>) => Promise<ServerCatalogFacts>;
}

/** The catalogs of one turn. */
export class TurnCatalogs {
  private readonly options: CatalogsOptions;
  /** The names of servers whose tools are not all in the tool array, in the order of the spec. */
  private readonly hidden: readonly string[];
  /** As last loaded; one of a server that was not there then has `unavailable`. */
  private readonly loaded = new Map<string, ServerCatalogFacts>();
  /** The hash of each server's last catalog that was one. */
  private readonly hashes = new Map<string, string>();
  private readonly loading = new Map<string, Promise<ServerCatalogFacts>>();
  private readonly outdated = new Set<string>();

  constructor(options: CatalogsOptions) {
    this.options = options;
    const { servers, catalogs = [] } = options.facts;
    this.hidden = servers.filter(({ mode }) => mode === 'deferred' || mode === 'selective').map(({ name }) => name);
    for (const facts of catalogs) this.keep(facts);
  }

  /** What the turn has loaded, in the order of the spec: for model calls, and to be kept by the manifest. */
  refs(): readonly ServerCatalogRef[] {
    const facts = this.options.servers.flatMap(({ name }) => this.loaded.get(name) ?? []);
    return facts.map(({ server, ref, hash }) => ({ server, ref, hash }));
  }

  /** Whether every server is loaded whose tools are not all shown, so that no call is left to be judged late. */
  get isWhole(): boolean {
    return this.hidden.every((server) => this.usable(server) !== undefined);
  }

  /** The catalog by which calls of a server are judged; undefined where that is the turn's tool array. */
  refOf(server: string): BlobRef | undefined {
    return this.usable(server)?.ref;
  }

  /**
   * A server's catalog: as loaded, else asked for, together with all who wait for the same. One that could not be asked is asked
   * again. Rejects as `load` does.
   */
  async need(server: string, reason: LoadCatalogInput['reason']): Promise<ServerCatalogFacts> {
    return this.usable(server) ?? this.shared(server, reason);
  }

  /** What a discovery call looks at; empty where it names a server that has nothing to be found. Rejects as `load` does. */
  async forDiscovery(call: Pick<ProposedCall, 'arguments' | 'argumentsRef'>): Promise<readonly ServerCatalogRef[]> {
    const facts = await Promise.all(this.lookedAt(call).map(async (server) => this.need(server, 'discovery')));
    return facts.map(({ server, ref, hash }) => ({ server, ref, hash }));
  }

  /** A call found that a server's tools are others now. */
  changed(server: string): void {
    this.outdated.add(server);
  }

  /** A server said that its list of tools has changed: what is found there may be others now. What is all shown stays so. */
  overtaken(server: string): void {
    if (this.hidden.includes(server)) this.outdated.add(server);
  }

  /** Whether anything has changed since it was loaded. */
  get isOutdated(): boolean {
    return this.outdated.size > 0;
  }

  /** Loads anew what has changed. What cannot be loaded stays as it was, to be loaded the next time; rejects when cancelled. */
  async renew(): Promise<void> {
    const renewing = [...this.outdated].map(async (server) => {
      try {
        await this.shared(server, 'changed');
        this.outdated.delete(server);
      } catch (failure) {
        if (isCancellation(failure)) throw failure;
      }
    });
    await Promise.all(renewing);
  }

  /** By reference its arguments are not known here: it may look at everything. */
  private lookedAt({ arguments: args, argumentsRef }: Pick<ProposedCall, 'arguments' | 'argumentsRef'>): string[] {
    const named = argumentsRef ? undefined : args['mcp_server'];
    if (typeof named !== 'string' || named === '') return [...this.hidden];
    return this.hidden.includes(named) || this.loaded.has(named) ? [named] : [];
  }

  private shared(server: string, reason: LoadCatalogInput['reason']): Promise<ServerCatalogFacts> {
    const underway = this.loading.get(server);
    if (underway) return underway;
    const loading = this.load(server, reason).finally(() => this.loading.delete(server));
    this.loading.set(server, loading);
    return loading;
  }

  private async load(name: string, reason: LoadCatalogInput['reason']): Promise<ServerCatalogFacts> {
    const server = this.options.servers.find((candidate) => candidate.name === name);
    if (!server) throw new TypeError(`the spec has no server \`${name}\``);
    const known = this.hashes.get(name);
    const facts = await this.options.load({ server, reason, ...(known !== undefined && { known }) });
    this.keep(facts);
    return facts;
  }

  private keep(facts: ServerCatalogFacts): void {
    this.loaded.set(facts.server, facts);
    if (facts.unavailable === undefined) this.hashes.set(facts.server, facts.hash);
  }

  private usable(server: string): ServerCatalogFacts | undefined {
    const facts = this.loaded.get(server);
    return facts?.unavailable === undefined ? facts : undefined;
  }
}
