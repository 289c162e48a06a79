import { AppError } from "../../../platform/errors.ts";
import type { FoundItem, PutItem } from "../../store/item.ts";
import type { ItemService } from "../../store/item-service.ts";
import type { CallGrounds } from "./call-ground.ts";
import type { Incoming } from "./call-stream.ts";
import type { Answer, CallHandlers } from "./python-channel.ts";

type Get = { op: "get"; namespace: string[]; key: string; refreshTtl?: boolean };
type Put = {
  op: "put";
  namespace: string[];
  key: string;
  /** Null removes the item. */
  value: Record<string, unknown> | null;
  index?: false | string[] | null;
  /** In minutes. Null: for ever. Absent: as the project says. */
  ttl?: number | null;
};
type Search = {
  op: "search";
  namespacePrefix: string[];
  filter?: Record<string, unknown> | null;
  limit: number;
  offset: number;
  query?: string | null;
  refreshTtl?: boolean;
};
type Namespaces = {
  op: "namespaces";
  matchConditions?: { matchType: "prefix" | "suffix"; path: string[] }[] | null;
  maxDepth?: number | null;
  limit: number;
  offset: number;
};
type Operation = Get | Put | Search | Namespaces;
type Store = { items: ItemService; workspaceId: string };

/** The long-term store of the run's workspace for Python's store: a batch of operations is one call. */
export class StoreProxy {
  readonly #grounds: CallGrounds;
  readonly handlers: Pick<CallHandlers, "unary">;

  constructor(grounds: CallGrounds) {
    this.#grounds = grounds;
    this.handlers = { unary: { "store.batch": (request) => this.#batch(request) } };
  }

  async #batch({ meta, segments }: Incoming): Promise<Answer> {
    const { store } = this.#grounds.of(meta);
    if (!store) throw withoutStore();
    const operations = JSON.parse(segments[0]!.toString()) as Operation[];
    // Reads see the store as it was before the writes of the same batch.
    const results = await Promise.all(operations.map((operation) => read(store, operation)));
    await write(store, operations);
    return { segments: [JSON.stringify(results)] };
  }
}

function read({ items, workspaceId }: Store, operation: Operation): Promise<unknown> {
  switch (operation.op) {
    case "get":
      return items
        .getMany(workspaceId, [operation], { refreshTtl: operation.refreshTtl })
        .then(([item]) => item ?? null);
    case "search":
      return searchItems(items, workspaceId, operation);
    case "namespaces":
      return items.listNamespaces({
        workspaceId,
        prefixes: pathsOf(operation, "prefix"),
        suffixes: pathsOf(operation, "suffix"),
        maxDepth: operation.maxDepth ?? undefined,
        limit: operation.limit,
        offset: operation.offset,
      });
    default:
      return Promise.resolve(null);
  }
}

function searchItems(items: ItemService, workspaceId: string, operation: Search): Promise<FoundItem[]> {
  const { namespacePrefix: prefix, filter, query, limit, offset, refreshTtl } = operation;
  return items.search(workspaceId, {
    prefix,
    filter: filter ?? undefined,
    query: query ?? undefined,
    limit,
    offset,
    refreshTtl,
  });
}

/** The last of several writes to one item is the one that counts. */
async function write({ items, workspaceId }: Store, operations: readonly Operation[]): Promise<void> {
  const last = new Map<string, Put>();
  for (const operation of operations) {
    if (operation.op === "put") last.set(JSON.stringify([operation.namespace, operation.key]), operation);
  }
  if (last.size === 0) return;
  const puts: PutItem[] = [];
  const removals: Put[] = [];
  for (const put of last.values()) {
    const { namespace, key, value, index, ttl } = put;
    if (value === null) removals.push(put);
    else puts.push({ namespace, key, value, index, ttlMinutes: ttl });
  }
  await items.write(workspaceId, puts, removals);
}

function pathsOf({ matchConditions }: Namespaces, type: "prefix" | "suffix"): string[][] {
  return (matchConditions ?? []).filter(({ matchType }) => matchType === type).map(({ path }) => path);
}

function withoutStore(): AppError {
  return new AppError({
    code: "store.no_run",
    kind: "invalid",
    message: "The store can only be used by nodes of a run; here no run is in progress.",
  });
}
