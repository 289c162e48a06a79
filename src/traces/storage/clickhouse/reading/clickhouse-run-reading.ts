import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { type Filter, fieldOf } from "../../../filter/filter.ts";
import { listSeenFeedbackKeys } from "../../feedback-row-store.ts";
import { listLiveProjects } from "../../live-projects-store.ts";
import {
  type FoundRunId,
  type FoundRuns,
  maxPageBytes,
  type Page,
  payloadFields,
  type RunField,
  type RunPayloads,
  type RunQuery,
  type RunRow,
  type SeenRun,
  type WantedIds,
} from "../../run-query.ts";
import type { RunPlace, RunReading } from "../../run-storage.ts";
import { type Condition, Values } from "../filter/condition.ts";
import { BoundedRows } from "./bounded-rows.ts";
import { findFeedbackStats } from "./feedback-stats-store.ts";
import { placeConditions, runConditions } from "./run-conditions.ts";
import { selectList, timeText } from "./run-field-sql.ts";
import { isByStart, type Key, keysAmong, keysOfPage, keysOfRows } from "./run-page.ts";
import { wordOfRows } from "./word-of-rows.ts";

const recentRuns = 500;
const defaultNearRows = 10_000;
/** How many rows with a word are looked for, for each run of a page: a run has several, and some are of earlier states. */
const rowsPerRun = 5;

export type ClickHouseReadingOptions = {
  clickHouse: ClickHouse;
  database: Database;
  readTimeoutMs: number;
  /** Among how many rows a page is looked for first. */
  nearRows?: number;
};

export class ClickHouseRunReading implements RunReading {
  readonly #rows: BoundedRows;
  readonly #database: Database;
  readonly #nearRows: number;

  constructor(options: ClickHouseReadingOptions) {
    this.#nearRows = options.nearRows ?? defaultNearRows;
    this.#rows = new BoundedRows(options.clickHouse, options.readTimeoutMs);
    this.#database = options.database;
  }

  async find(query: RunQuery, page: Page, fields: ReadonlySet<RunField>): Promise<FoundRuns> {
    return await this.#page(query, page.limit, fields, async (projectIds) => {
      const found =
        (await this.#near(query, page, projectIds)) ?? (await this.#withWord(query, page, projectIds));
      if (found) return found;
      const values = new Values();
      const conditions = runConditions(query, projectIds, values);
      return await this.#rows.read<FoundKey>(keysOfPage(conditions, page, values), values.params);
    });
  }

  async findTrace(
    query: RunQuery & { traceId: string },
    limit: number,
    fields: ReadonlySet<RunField>,
  ): Promise<FoundRuns> {
    return await this.#page(query, limit, fields, async (projectIds) => {
      const values = new Values();
      return await this.#rows.read<FoundKey>(
        `select toString(id) as found_id, ${timeText("start_time")} as found_start from trace_runs final
          where ${runConditions(query, projectIds, values)} order by dotted_order limit ${limit + 1}`,
        values.params,
      );
    });
  }

  async seen(place: RunPlace) {
    const params = { w: place.workspaceId, p: place.projectId };
    const scope = "workspace_id = {w: UUID} and project_id = {p: UUID}";
    const runs = await this.#rows.read<Omit<SeenRun, "metadata"> & { metadata: string }>(
      `select name, run_type, tags, metadata from trace_runs final where ${scope} and not is_gone
        order by start_time desc, id desc limit ${recentRuns}`,
      params,
    );
    return {
      runs: runs.map((run) => ({ ...run, metadata: JSON.parse(run.metadata) as SeenRun["metadata"] })),
      feedbackKeys: await listSeenFeedbackKeys(this.#database.sql, place),
    };
  }

  async payloadsOf(workspaceId: string, ids: readonly string[]): Promise<Map<string, RunPayloads>> {
    const values = new Values();
    const rows = await this.#rows.read<RunPayloads & { id: string }>(
      `select id, nullIf(inputs, 'null') as inputs, nullIf(outputs, 'null') as outputs from trace_runs final
        prewhere workspace_id = ${values.bind(workspaceId, "UUID")} and id in ${values.bind(ids, "Array(UUID)")}
        where not is_gone`,
      values.params,
    );
    return new Map(rows.map(({ id, ...payloads }) => [id, payloads]));
  }

  async projectOf(workspaceId: string, runId: string): Promise<string | undefined> {
    const [row] = await this.#rows.read<{ project_id: string }>(
      "select project_id from trace_runs final prewhere workspace_id = {w: UUID} and id = {id: UUID} where not is_gone",
      { w: workspaceId, id: runId },
    );
    return row?.project_id;
  }

  async findByIds({ workspaceId, ids, limit }: WantedIds): Promise<FoundRunId[]> {
    if (ids === null) return [];
    // As texts: ClickHouse orders ids by their second half.
    return await this.#rows.read<FoundRunId>(
      `select id, project_id, name, run_type from trace_runs final where workspace_id = {w: UUID}
        and toString(id) between {from: String} and {to: String} and not is_gone limit {limit: UInt32}`,
      { w: workspaceId, from: ids.from, to: ids.to, limit },
    );
  }

  /**
   * The page, if it is among the first rows: to find it among all, every run of the project would be merged. All rows of a run have its
   * start, so none that are needed are left out. Undefined: it must be looked for among all.
   */
  async #near(query: RunQuery, page: Page, projectIds: readonly string[]): Promise<FoundKey[] | undefined> {
    if (projectIds.length > 1 || !isByStart(page) || isRare(query)) return undefined;
    const values = new Values();
    const near = { scope: placeConditions(query, projectIds, values), limit: this.#nearRows };
    const text = keysOfPage(runConditions(query, projectIds, values), page, values, near);
    const found = await this.#rows.read<FoundKey & { is_whole: number }>(text, values.params);
    return found.length > page.limit || found[0]?.is_whole ? found : undefined;
  }

  /**
   * The page, if it is of runs with a word, and enough of their rows are found by it, or all. Rows are asked as they were written: of runs
   * that are merged an index leaves out little, since every block that may have other rows of the runs it finds is read. Undefined: it
   * must be looked for among all.
   */
  async #withWord(query: RunQuery, page: Page, projectIds: string[]): Promise<FoundKey[] | undefined> {
    if (!query.filter || !isByStart(page)) return undefined;
    const asked = new Values();
    const word = wordOfRows(query.filter, asked);
    if (word === undefined) return undefined;
    const limit = rowsPerRun * (page.limit + 1);
    const place = placeConditions(query, projectIds, asked);
    const text = keysOfRows(`${place} and ${word}`, page, asked, limit);
    const rows = await this.#rows.read<FoundKey>(text, asked.params);
    if (rows.length === 0) return [];
    const values = new Values();
    const scope = { workspaceId: query.workspaceId, projectIds };
    const ofRows = hasKey(rows.map(keyOf), scope, values);
    const found = await this.#rows.read<FoundKey>(
      keysAmong(ofRows, runConditions(query, projectIds, values), page, values),
      values.params,
    );
    return found.length > page.limit || rows.length < limit ? found : undefined;
  }

  /** Keys first, so that no payload passes through a sort. */
  async #page(
    query: RunQuery,
    limit: number,
    fields: ReadonlySet<RunField>,
    findKeys: (projectIds: string[]) => Promise<FoundKey[]>,
  ): Promise<FoundRuns> {
    const projectIds = await listLiveProjects(this.#database.sql, query);
    if (projectIds.length === 0) return { rows: [], next: null };
    const found = (await findKeys(projectIds)).map(keyOf);
    const scope = { workspaceId: query.workspaceId, projectIds };
    const { keys, rows } = await this.#fitting(found.slice(0, limit), fields, scope);
    const last = keys.at(-1);
    if (!last || found.length === keys.length) return { rows, next: null };
    const { id, start_time: startTime, sort_key: key } = last;
    return { rows, next: { startTime, id, ...(key !== undefined && { key }) } };
  }

  /** As many of the runs as an answer may be large; one always fits. Most pages fit, so how large they are is asked of others only. */
  async #fitting(
    found: Key[],
    fields: ReadonlySet<RunField>,
    scope: Scope,
  ): Promise<{ keys: Key[]; rows: RunRow[] }> {
    const payloads = payloadFields.filter((field) => fields.has(field));
    const isBounded = payloads.length > 0 && found.length > 1;
    const all = await this.#read(found, fields, scope, isBounded ? maxPageBytes : undefined);
    if (all) return { keys: found, rows: all };
    const keys = await this.#fewer(found, payloads, scope);
    return { keys, rows: (await this.#read(keys, fields, scope))! };
  }

  async #fewer(keys: Key[], payloads: readonly RunField[], scope: Scope): Promise<Key[]> {
    const size = payloads.map((field) => `ifNull(length(${field}), 0)`).join(" + ");
    const values = new Values();
    const sized = await this.#rows.read<{ id: string; size: number }>(
      `select id, ${size} as size from trace_runs final ${ofKeys(keys, scope, values)}`,
      values.params,
    );
    const sizes = new Map(sized.map((row) => [row.id, row.size]));
    let bytes = 0;
    const end = keys.findIndex(({ id }) => {
      const isFull = bytes >= maxPageBytes;
      bytes += sizes.get(id) ?? 0;
      return isFull;
    });
    return end === -1 ? keys : keys.slice(0, end);
  }

  /** Undefined when they are larger than `maxBytes`. */
  async #read(
    keys: Key[],
    fields: ReadonlySet<RunField>,
    scope: Scope,
    maxBytes?: number,
  ): Promise<RunRow[] | undefined> {
    if (keys.length === 0) return [];
    const values = new Values();
    const text = `select ${selectList(fields)} from trace_runs final ${ofKeys(keys, scope, values)}`;
    const rows =
      maxBytes === undefined
        ? await this.#rows.read<Record<string, unknown>>(text, values.params)
        : await this.#rows.readWithin<Record<string, unknown>>(maxBytes, text, values.params);
    if (!rows) return undefined;
    const shown = rows.map(
      (row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [name.slice("shown_".length), value]),
        ) as RunRow,
    );
    const byId = new Map(shown.map((row) => [row.id, row]));
    if (fields.has("feedback_stats")) {
      const ids = keys.map(({ id }) => id);
      const stats = await findFeedbackStats(this.#database.sql, scope.workspaceId, ids);
      for (const [id, row] of byId) row.feedback_stats = stats.get(id) ?? null;
    }
    // A run that was removed between the two statements is as if it had been removed before.
    return keys.flatMap(({ id }) => byId.get(id) ?? []);
  }
}

type FoundKey = { found_id: string; found_start: string; sort_key?: string };

function keyOf({ found_id: id, found_start: start_time, sort_key }: FoundKey): Key {
  return { id, start_time, ...(sort_key !== undefined && { sort_key }) };
}

/** Whether few of the runs of a project may be what is asked for. Of a filter it is a guess: to look among the first rows in vain costs little. */
function isRare(query: RunQuery): boolean {
  const { ids, traceId, parentRunId, exampleIds, filter, traceFilter, treeFilter } = query;
  const asked = [ids, traceId, parentRunId, exampleIds, traceFilter, treeFilter];
  return asked.some((each) => each !== undefined) || (filter !== undefined && namesFew(filter));
}

/** Whether a run must have what few runs have: an id, a thread, a tag, a pair. */
function namesFew(filter: Filter): boolean {
  switch (filter.kind) {
    case "and":
      return filter.parts.some(namesFew);
    case "or":
      return filter.parts.every(namesFew);
    case "compare": {
      const { type, pair } = fieldOf(filter.field);
      const isOfFew = pair !== undefined || type === "uuid" || type === "tags" || type === "json";
      const isNamed = ["eq", "in", "has"].includes(filter.op) && filter.value !== null;
      return isNamed && (isOfFew || filter.field === "thread_id");
    }
    default:
      return false;
  }
}

type Scope = { workspaceId: string; projectIds: string[] };

/**
 * By the table's key alone: its index then finds the blocks of these runs in every part, and the others say nothing more. What is in the
 * key is asked first, so that payloads are read of these runs alone.
 */
function ofKeys(keys: Key[], scope: Scope, values: Values): string {
  return `prewhere ${hasKey(keys, scope, values)} where not is_gone settings use_skip_indexes = 0`;
}

function hasKey(keys: Key[], { workspaceId, projectIds }: Scope, values: Values): Condition {
  // Without the letter for UTC, which a bound time cannot have.
  const times = [...new Set(keys.map((key) => key.start_time.replace("Z", "")))];
  const ids = [...new Set(keys.map(({ id }) => id))];
  return `workspace_id = ${values.bind(workspaceId, "UUID")} and project_id in ${values.bind(projectIds, "Array(UUID)")}
    and start_time in ${values.bind(times, "Array(DateTime64(6, 'UTC'))")} and id in ${values.bind(ids, "Array(UUID)")}`;
}
