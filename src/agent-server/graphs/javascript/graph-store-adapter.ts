import type {
  BaseStore,
  GetOperation,
  ListNamespacesOperation,
  Operation,
  OperationResults,
  PutOperation,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import type { GraphKit } from "./graph-kit.ts";

/** What graphs know as their store. */
export type GraphStore = BaseStore;

type StoredItem = {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
  score?: number;
};
type Ref = { namespace: string[]; key: string };

/** The store of one workspace, as the adapter needs it. */
export type GraphStoreBackend = {
  getMany(refs: readonly Ref[]): Promise<(StoredItem | null)[]>;
  write(
    puts: readonly (Ref & { value: Record<string, unknown>; index?: false | string[] | undefined })[],
    removals: readonly Ref[],
  ): Promise<void>;
  search(request: {
    prefix: string[];
    filter?: Record<string, unknown> | undefined;
    query?: string | undefined;
    limit: number;
    offset: number;
  }): Promise<StoredItem[]>;
  listNamespaces(request: {
    prefixes: string[][];
    suffixes: string[][];
    maxDepth: number | undefined;
    limit: number;
    offset: number;
  }): Promise<string[][]>;
};

export type GraphStoreClass = new (backend: GraphStoreBackend) => GraphStore;

/** The class belongs to the copy of the graph library whose graphs use it. */
export function createGraphStoreClass(kit: Pick<GraphKit, "BaseStore">): GraphStoreClass {
  return class WorkspaceStore extends kit.BaseStore {
    readonly #backend: GraphStoreBackend;

    constructor(backend: GraphStoreBackend) {
      super();
      this.#backend = backend;
    }

    /** Reads see the store as it was before the writes of the same batch. */
    async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
      const results: unknown[] = operations.map(() => undefined);
      const gets: { at: number; ref: Ref }[] = [];
      const searches: Promise<void>[] = [];
      const writes = new Map<string, PutOperation>();
      for (const [at, operation] of operations.entries()) {
        if (isPut(operation)) writes.set(JSON.stringify([operation.namespace, operation.key]), operation);
        else if (isGet(operation)) gets.push({ at, ref: operation });
        else {
          const read = isSearch(operation) ? this.#search(operation) : this.#list(operation);
          searches.push(
            read.then((found) => {
              results[at] = found;
            }),
          );
        }
      }
      await Promise.all([this.#get(gets, results), ...searches]);
      await this.#write([...writes.values()]);
      return results as OperationResults<Op>;
    }

    async #get(gets: { at: number; ref: Ref }[], results: unknown[]): Promise<void> {
      if (gets.length === 0) return;
      const items = await this.#backend.getMany(gets.map((get) => get.ref));
      for (const [index, { at }] of gets.entries()) {
        const item = items[index];
        results[at] = item ? toLibraryItem(item) : null;
      }
    }

    async #search(operation: SearchOperation) {
      const found = await this.#backend.search({
        prefix: operation.namespacePrefix,
        filter: operation.filter,
        query: operation.query,
        limit: operation.limit ?? 10,
        offset: operation.offset ?? 0,
      });
      return found.map((item) => ({ ...toLibraryItem(item), score: item.score }));
    }

    #list(operation: ListNamespacesOperation): Promise<string[][]> {
      const pathsOf = (type: "prefix" | "suffix") =>
        (operation.matchConditions ?? [])
          .filter((condition) => condition.matchType === type)
          .map((condition) => condition.path);
      return this.#backend.listNamespaces({
        prefixes: pathsOf("prefix"),
        suffixes: pathsOf("suffix"),
        maxDepth: operation.maxDepth,
        limit: operation.limit ?? 100,
        offset: operation.offset ?? 0,
      });
    }

    async #write(operations: PutOperation[]): Promise<void> {
      if (operations.length === 0) return;
      const puts = operations.flatMap(({ namespace, key, value, index }) =>
        value === null ? [] : [{ namespace, key, value, index }],
      );
      await this.#backend.write(
        puts,
        operations.filter((operation) => operation.value === null),
      );
    }
  };
}

function isPut(operation: Operation): operation is PutOperation {
  return "value" in operation;
}

function isGet(operation: Operation): operation is GetOperation {
  return "key" in operation;
}

function isSearch(operation: Operation): operation is SearchOperation {
  return "namespacePrefix" in operation;
}

function toLibraryItem(item: StoredItem) {
  const { namespace, key, value, created_at, updated_at } = item;
  return { namespace, key, value, createdAt: created_at, updatedAt: updated_at };
}
