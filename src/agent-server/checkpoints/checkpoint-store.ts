import { Batcher, type BatcherStats, outageRetries } from "../../platform/db/batch/batcher.ts";
import type { Database } from "../../platform/db/database.ts";
import { textArray } from "../../platform/db/text-array.ts";
import { AppError } from "../../platform/errors.ts";
import {
  type CheckpointInput,
  type CheckpointQuery,
  type CheckpointRequest,
  type Fence,
  type Grown,
  nameFromStored,
  type OwnThread,
  type Payload,
  type StoredCheckpoint,
  type StoredValue,
  storedName,
  type WritesInput,
} from "./checkpoint.ts";
import {
  buildBatch,
  type CheckpointItem,
  itemBytes,
  itemKey,
  mergeItems,
  wholeItem,
} from "./checkpoint-batch.ts";
import { deleteThreadCheckpoints } from "./checkpoint-maintenance-store.ts";
import {
  hasRunCheckpointStatement,
  highestId,
  type ListCursor,
  listStatement,
  type OwnQuery,
  type ReadRow,
  readChannelWritesStatement,
  readOwnStatement,
  readStatement,
  type WrittenRow,
  writeBatchStatement,
} from "./checkpoint-statements.ts";
import { GrownLists } from "./grown-lists.ts";

const maxRowsPerFlush = 500;
const maxBytesPerFlush = 4 * 1024 * 1024;
const maxReadsPerQuery = 100;
const lanes = 2;
const listPageSize = 100;

type Outcome = "written" | "refused";

export type CheckpointStoreOptions = {
  /** Whether all that read this database know lists that are stored as additions. */
  mayAdd?: () => boolean;
};

type OwnRequest = CheckpointRequest & { workspaceId: string };
type OwnCheckpoint = { thread: OwnThread; checkpoint: StoredCheckpoint | undefined };

/**
 * Checkpoints of every thread. Writes and reads of concurrent runs are gathered into one statement each. A write's
 * promise resolves after its commit, so code that awaited it can read it.
 */
export class CheckpointStore {
  readonly #database: Database;
  readonly #lists: GrownLists;
  readonly #writes: Batcher<CheckpointItem, Outcome>;
  readonly #reads: Batcher<CheckpointRequest, StoredCheckpoint | undefined>;
  readonly #ownReads: Batcher<OwnRequest, OwnCheckpoint | undefined>;

  constructor(database: Database, { mayAdd }: CheckpointStoreOptions = {}) {
    this.#database = database;
    this.#lists = new GrownLists(mayAdd);
    this.#writes = new Batcher<CheckpointItem, Outcome>({
      name: "checkpoints",
      flush: (items) => this.#write(items),
      keyOf: itemKey,
      merge: mergeItems,
      bytesOf: itemBytes,
      maxRows: maxRowsPerFlush,
      maxBytes: maxBytesPerFlush,
      lanes,
      retries: outageRetries,
    });
    this.#reads = new Batcher<CheckpointRequest, StoredCheckpoint | undefined>({
      name: "checkpoint reads",
      flush: (requests) => this.#read(requests),
      maxRows: maxReadsPerQuery,
      maxBytes: maxBytesPerFlush,
      lanes,
    });
    this.#ownReads = new Batcher<OwnRequest, OwnCheckpoint | undefined>({
      name: "own checkpoint reads",
      flush: (requests) => this.#readOwn(requests),
      maxRows: maxReadsPerQuery,
      maxBytes: maxBytesPerFlush,
      lanes,
    });
  }

  async put(whole: CheckpointInput, fence?: Fence): Promise<void> {
    const { input, stored } = this.#lists.shorten(whole);
    const item = { kind: "checkpoint", fence, input, ...(input !== whole && { whole }) } as const;
    requireHeld(await this.#writes.add(item), fence);
    stored();
  }

  async putWrites(input: WritesInput, fence?: Fence): Promise<void> {
    if (input.writes.length === 0) return;
    requireHeld(await this.#writes.add({ kind: "writes", fence, input }), fence);
  }

  async get(request: CheckpointRequest): Promise<StoredCheckpoint | undefined> {
    const stored = await this.#reads.add(request);
    if (stored) this.#lists.read(stored);
    return stored;
  }

  /** `get` with its thread, in one statement; undefined when the workspace has no such thread. */
  getOwn(request: OwnRequest): Promise<OwnCheckpoint | undefined> {
    return this.#ownReads.add(request);
  }

  /** Newest first, in pages: each page is one consistent answer whose checkpoints share their values. */
  async *list(query: CheckpointQuery): AsyncGenerator<StoredCheckpoint[]> {
    for await (const { page } of this.#list(query)) if (page.length > 0) yield page;
  }

  /** All pages of `list` with their thread; undefined when the workspace has no such thread. */
  async listOwn(query: OwnQuery): Promise<{ thread: OwnThread; pages: StoredCheckpoint[][] } | undefined> {
    const pages: StoredCheckpoint[][] = [];
    let thread: OwnThread | undefined;
    for await (const read of this.#list(query)) {
      thread ??= read.thread;
      if (read.page.length > 0) pages.push(read.page);
    }
    return thread && { thread, pages };
  }

  async *#list(
    query: CheckpointQuery | OwnQuery,
  ): AsyncGenerator<{ thread: OwnThread | undefined; page: StoredCheckpoint[] }> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    let cursor: ListCursor | undefined;
    const stored =
      query.checkpointNs === undefined ? query : { ...query, checkpointNs: storedName(query.checkpointNs) };
    while (left > 0) {
      const size = Math.min(left, listPageSize);
      const { statement, values } = listStatement(stored, cursor, size);
      const rows = await this.#database.query<ReadRow>(statement, values);
      const found = [...assemble(rows).entries()];
      const page = found.sort(([a], [b]) => a - b).map(([, checkpoint]) => checkpoint);
      yield { thread: rows.filter(isThread).map(ownThread)[0], page };
      const last = page.at(-1);
      if (last === undefined || page.length < size) return;
      left -= page.length;
      cursor = { ...last, checkpointNs: storedName(last.checkpointNs) };
    }
  }

  /** What the tasks of a checkpoint wrote to one channel, in the order of the tasks. */
  async channelWrites(key: Required<CheckpointRequest>, channel: string): Promise<Payload[]> {
    const rows = await this.#database.query<{ type: string; payload: string }>(readChannelWritesStatement, [
      key.threadId,
      storedName(key.checkpointNs),
      key.checkpointId,
      storedName(channel),
    ]);
    return rows.map((row) => ({ type: row.type, text: row.payload }));
  }

  deleteThread(threadId: string): Promise<void> {
    return deleteThreadCheckpoints(this.#database.sql, [threadId]);
  }

  /** Whether an attempt of the run got far enough for the next one to go on from there. */
  async hasCheckpointOf(threadId: string, runId: string): Promise<boolean> {
    const rows = await this.#database.query(hasRunCheckpointStatement, [threadId, runId]);
    return rows.length > 0;
  }

  /** Resolves when everything handed in so far is settled. */
  drain(): Promise<void> {
    return this.#writes.drain();
  }

  stats(): BatcherStats[] {
    return [this.#writes.stats(), this.#reads.stats(), this.#ownReads.stats()];
  }

  async #write(items: readonly CheckpointItem[]): Promise<Outcome[]> {
    const { parameters, fenceOf } = buildBatch(items);
    const [runIds, attempts, ...columns] = parameters;
    const holding = await this.#database.query<WrittenRow>(writeBatchStatement, [
      runIds,
      attempts,
      // A column holds texts in all its rows or in none.
      ...columns.map((column) => (column.some(isText) ? textArray(column as (string | Buffer)[]) : column)),
    ]);
    const held = new Set(holding.map((row) => row.position));
    if (held.has(null)) {
      for (const { input } of items) this.#lists.forget(input);
      return this.#write(items.map(wholeItem));
    }
    return fenceOf.map((fence) => (fence === null || held.has(fence) ? "written" : "refused"));
  }

  async #read(requests: readonly CheckpointRequest[]): Promise<(StoredCheckpoint | undefined)[]> {
    const found = assemble(await this.#database.query<ReadRow>(readStatement, placesOf(requests)));
    return requests.map((_, index) => found.get(index + 1));
  }

  async #readOwn(requests: readonly OwnRequest[]): Promise<(OwnCheckpoint | undefined)[]> {
    const rows = await this.#database.query<ReadRow>(readOwnStatement, [
      ...placesOf(requests),
      requests.map((request) => request.workspaceId),
    ]);
    const found = assemble(rows);
    const threads = new Map(rows.filter(isThread).map((row) => [row.position!, ownThread(row)]));
    return requests.map((_, index) => {
      const thread = threads.get(index + 1);
      return thread && { thread, checkpoint: found.get(index + 1) };
    });
  }
}

/** Which checkpoint each asks for: the newest between two ids. */
function placesOf(requests: readonly CheckpointRequest[]): string[][] {
  return [
    requests.map((request) => request.threadId),
    requests.map((request) => storedName(request.checkpointNs)),
    requests.map((request) => request.checkpointId ?? ""),
    requests.map((request) => request.checkpointId ?? highestId),
  ];
}

const isThread = ({ kind }: ReadRow) => kind === "thread";

function ownThread({ thread_id, b: graphId }: ReadRow): OwnThread {
  return { threadId: thread_id, graphId: graphId ?? undefined };
}

function requireHeld(outcome: Outcome, fence: Fence | undefined): void {
  if (outcome === "written") return;
  throw new AppError({
    code: "run.lease_lost",
    kind: "conflict",
    message: `Run ${fence?.runId} was taken over or ended while attempt ${fence?.attempt} was still writing; this attempt must stop.`,
  });
}

/** Puts rows of all kinds together, by the checkpoint's position in the answer. */
function assemble(rows: readonly ReadRow[]): Map<number, StoredCheckpoint> {
  const found = new Map<number, StoredCheckpoint>();
  const blobs = valuesFrom(rows.filter(({ kind }) => kind === "blob"));
  for (const row of rows) {
    if (row.kind === "checkpoint") found.set(row.position!, checkpointFrom(row, blobs));
  }
  for (const row of rows) {
    if (row.kind !== "write") continue;
    const payload = { type: row.c, text: row.d };
    found
      .get(row.position!)
      ?.writes.push({ taskId: row.a, idx: row.idx!, channel: nameFromStored(row.b!), payload });
  }
  for (const checkpoint of found.values()) {
    checkpoint.writes.sort((a, b) => compareText(a.taskId, b.taskId) || a.idx - b.idx);
  }
  return found;
}

/** Those that others add to first. */
function valuesFrom(rows: readonly ReadRow[]): Map<string, StoredValue> {
  const values = new Map<string, StoredValue>();
  for (const row of rows) {
    if (row.base_version !== null) continue;
    const { thread_id, checkpoint_ns, a: channel, b: version, c: type, d: text } = row;
    values.set(blobKey(thread_id, checkpoint_ns, channel, version!), { type, text, version: version! });
  }
  for (const row of rows) {
    if (row.base_version === null) continue;
    const { thread_id, checkpoint_ns, a: channel, b: version, c: type, d: added } = row;
    const base = values.get(blobKey(thread_id, checkpoint_ns, channel, row.base_version));
    if (!base)
      throw new Error(`Version ${version} of "${channel}" of thread ${thread_id} adds to one that is gone.`);
    values.set(
      blobKey(thread_id, checkpoint_ns, channel, version!),
      grownValue(type, version!, { base, added }),
    );
  }
  return values;
}

/** Its text is put together when somebody needs all of it. */
function grownValue(type: string, version: string, grown: Grown): StoredValue {
  let text: string | undefined;
  return {
    type,
    version,
    grown,
    get text() {
      text ??= `${grown.base.text.slice(0, -1)}${grown.added}`;
      return text;
    },
  };
}

function checkpointFrom(row: ReadRow, blobs: ReadonlyMap<string, StoredValue>): StoredCheckpoint {
  const values = new Map<string, StoredValue>();
  row.blob_channels?.forEach((channel, index) => {
    const payload = blobs.get(blobKey(row.thread_id, row.checkpoint_ns, channel, row.blob_versions![index]!));
    if (payload !== undefined) values.set(nameFromStored(channel), payload);
  });
  return {
    threadId: row.thread_id,
    checkpointNs: nameFromStored(row.checkpoint_ns),
    checkpointId: row.a,
    parentCheckpointId: row.b,
    structure: row.d,
    metadata: row.c,
    blobs: values,
    writes: [],
  };
}

function blobKey(threadId: string, checkpointNs: string, channel: string, version: string): string {
  return `${threadId}\0${checkpointNs}\0${channel}\0${version}`;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isText(value: unknown): boolean {
  return typeof value === "string" || Buffer.isBuffer(value);
}
