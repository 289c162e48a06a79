import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import type { RawBuilder } from "../../platform/db/raw.ts";
import { type AppError, invalidField } from "../../platform/errors.ts";
import {
  expiryOf,
  type FoundItem,
  type Item,
  type ItemRef,
  keyFault,
  lastWrites,
  namespaceFault,
  type PutItem,
  refText,
  type StoreTtl,
  storableJson,
} from "./item.ts";
import type { ItemEmbedder } from "./item-embedder.ts";
import { parseFilter } from "./item-filter.ts";
import {
  findMatching,
  findNamespaces,
  findSimilar,
  type NamespaceSearch,
  type VectorMath,
} from "./item-search-store.ts";
import {
  deleteExpired,
  deleteItems,
  deleteVectors,
  findItems,
  type ItemRow,
  type ItemWrite,
  insertVectors,
  lockBuckets,
  refreshItems,
  toItem,
  upsertItems,
} from "./item-store.ts";
import { wordsOf } from "./item-text.ts";

export type ItemServiceOptions = {
  database: Database;
  clock: Clock;
  ttl: StoreTtl;
  embedder: ItemEmbedder | undefined;
};

export type SearchRequest = {
  prefix: readonly string[];
  filter?: Record<string, unknown> | undefined;
  query?: string | undefined;
  limit: number;
  offset: number;
  refreshTtl?: boolean | undefined;
  /** What a project's own authorization asks of the items, on `i.document`. */
  admitted?: RawBuilder<unknown> | undefined;
};

const sweepBatch = 1_000;
const stackTooDeep = "54001";

/** Use cases of the long-term store; every one of them within one workspace. */
export class ItemService {
  readonly #options: ItemServiceOptions;
  #vectorMath: VectorMath = "sql";

  constructor(options: ItemServiceOptions) {
    this.#options = options;
  }

  setVectorMath(math: VectorMath): void {
    this.#vectorMath = math;
  }

  /** In the order of the references; null for what is not there. */
  async getMany(
    workspaceId: string,
    refs: readonly ItemRef[],
    options: { refreshTtl?: boolean | undefined } = {},
  ): Promise<(Item | null)[]> {
    const rows = await findItems(this.#options.database, workspaceId, refs, this.#options.clock.now());
    await this.#touch(workspaceId, rows, options.refreshTtl);
    const found = new Map(rows.map((row) => [`${row.namespace}\u0000${row.key}`, row]));
    return refs.map((ref) => {
      const row = found.get(refText(ref));
      return row ? toItem(row) : null;
    });
  }

  async put(workspaceId: string, item: PutItem): Promise<void> {
    await this.write(workspaceId, [item], []);
  }

  async remove(workspaceId: string, ref: ItemRef): Promise<void> {
    await this.write(workspaceId, [], [ref]);
  }

  /** All or nothing. An item is either put or removed, never both. */
  async write(workspaceId: string, puts: readonly PutItem[], removals: readonly ItemRef[]): Promise<void> {
    for (const put of puts) checkPut(put);
    const items = lastWrites(puts);
    const gone = lastWrites(removals);
    const { database, clock, embedder } = this.#options;
    const now = clock.now();
    const writes = items.map((item) => this.#toWrite(item, now));
    const vectors = embedder ? await embedder.embedItems(items) : [];
    const rows = vectors.flatMap((own, index) => {
      const { namespace, key } = items[index]!;
      return own.map((vector, position) => ({ namespace, key, position, vector }));
    });
    await database
      .transaction(async (tx: Sql) => {
        if (items.length + gone.length > 1) await lockBuckets(tx, workspaceId, [...items, ...gone]);
        if (writes.length > 0) {
          await upsertItems(tx, workspaceId, writes, now);
          await deleteVectors(tx, workspaceId, writes);
        }
        if (rows.length > 0) await insertVectors(tx, workspaceId, rows);
        if (gone.length > 0) await deleteItems(tx, workspaceId, gone);
      })
      .catch((error: unknown) => {
        throw sqlState(error) === stackTooDeep ? tooDeep(error) : error;
      });
  }

  async search(workspaceId: string, request: SearchRequest): Promise<FoundItem[]> {
    const { database, clock, embedder } = this.#options;
    const parsed = parseFilter(request.filter ?? {});
    if ("fault" in parsed) {
      throw invalidField(["body", "filter", ...parsed.fault.path], parsed.fault.message);
    }
    const { prefix, limit, offset, admitted } = request;
    const { conditions } = parsed;
    const search = { workspaceId, prefix, limit, offset, conditions, admitted, now: clock.now() };
    const query = request.query ?? "";
    if (query !== "" && embedder) {
      const vector = await embedder.embedQuery(query);
      const rows = await findSimilar(database.sql, search, vector, this.#vectorMath);
      await this.#touch(workspaceId, rows, request.refreshTtl);
      return rows.map((row) => ({ ...toItem(row), score: row.score }));
    }
    const rows = await findMatching(database.sql, search, wordsOf(query));
    await this.#touch(workspaceId, rows, request.refreshTtl);
    return rows.map(toItem);
  }

  listNamespaces(search: Omit<NamespaceSearch, "now">): Promise<string[][]> {
    const { database, clock } = this.#options;
    return findNamespaces(database.sql, { ...search, now: clock.now() });
  }

  /** Removes what has expired; returns how many items went. */
  async sweep(signal?: AbortSignal): Promise<number> {
    const { database, clock } = this.#options;
    let removed = 0;
    for (;;) {
      signal?.throwIfAborted();
      const count = await deleteExpired(database.sql, clock.now(), sweepBatch);
      removed += count;
      if (count < sweepBatch) return removed;
    }
  }

  #toWrite(item: PutItem, now: Date): ItemWrite {
    const { namespace, key } = item;
    const valueJson = serialize(item.value);
    const given = item.ttlMinutes;
    const ttlMinutes = given === undefined ? (this.#options.ttl.defaultTtlMinutes ?? null) : given;
    const expiresAt = expiryOf(ttlMinutes, now);
    return { namespace, key, valueJson, documentJson: storableJson(valueJson), ttlMinutes, expiresAt };
  }

  async #touch(workspaceId: string, rows: readonly ItemRow[], asked: boolean | undefined): Promise<void> {
    const { database, clock, ttl } = this.#options;
    if (!(asked ?? ttl.refreshOnRead ?? true)) return;
    const mortal = rows.filter((row) => row.ttl_minutes !== null).map(toRef);
    if (mortal.length > 0) await refreshItems(database.sql, workspaceId, mortal, clock.now());
  }
}

function toRef(row: ItemRow): ItemRef {
  return { namespace: row.namespace.split("."), key: row.key };
}

/** Graphs come here without passing a request schema. */
function checkPut(put: PutItem): void {
  const fault = namespaceFault(put.namespace);
  if (fault) throw invalidField(["body", "namespace", ...fault.path], fault.message);
  const message = keyFault(put.key);
  if (message) throw invalidField(["body", "key"], message);
}

function serialize(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw notStorable(cause);
  }
  if (text === undefined || !text.startsWith("{")) throw notStorable();
  return text;
}

function notStorable(cause?: unknown): AppError {
  const error = invalidField(["body", "value"], "The value must be an object that can be written as JSON");
  if (cause !== undefined) error.cause = cause;
  return error;
}

function tooDeep(cause: unknown): AppError {
  const error = invalidField(["body", "value"], "The value is nested too deeply to be stored");
  error.cause = cause;
  return error;
}
