import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import type { Database } from "../../../../platform/db/database.ts";
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
import type { RunReading } from "../../run-storage.ts";
import { timeOf } from "../filter/compile-field.ts";
import { Values } from "../filter/condition.ts";
import { BoundedRows } from "./bounded-rows.ts";
import { findFeedbackStats } from "./feedback-stats-store.ts";
import { listLiveProjects } from "./live-projects-store.ts";
import { runConditions } from "./run-conditions.ts";
import { selectList, timeText } from "./run-field-sql.ts";
import { type Key, keysOfPage } from "./run-page.ts";

const recentRuns = 500;

export type ClickHouseReadingOptions = { clickHouse: ClickHouse; database: Database; readTimeoutMs: number };

export class ClickHouseRunReading implements RunReading {
  readonly #rows: BoundedRows;
  readonly #database: Database;

  constructor(options: ClickHouseReadingOptions) {
    this.#rows = new BoundedRows(options.clickHouse, options.readTimeoutMs);
    this.#database = options.database;
  }

  async find(query: RunQuery, page: Page, fields: ReadonlySet<RunField>): Promise<FoundRuns> {
    return await this.#page(query, page.limit, fields, (conditions, values) =>
      keysOfPage(conditions, page, values),
    );
  }

  async findTrace(
    query: RunQuery & { traceId: string },
    limit: number,
    fields: ReadonlySet<RunField>,
  ): Promise<FoundRuns> {
    return await this.#page(
      query,
      limit,
      fields,
      (conditions) => `select toString(id) as found_id, ${timeText("start_time")} as found_start
        from trace_runs final where ${conditions} order by dotted_order limit ${limit + 1}`,
    );
  }

  async seen(place: { workspaceId: string; projectId: string }) {
    const params = { w: place.workspaceId, p: place.projectId };
    const scope = "workspace_id = {w: UUID} and project_id = {p: UUID}";
    const runs = await this.#rows.read<Omit<SeenRun, "metadata"> & { metadata: string }>(
      `select name, run_type, tags, metadata from trace_runs final where ${scope} and not is_gone
        order by start_time desc, id desc limit ${recentRuns}`,
      params,
    );
    const keys = await this.#rows.read<{ key: string }>(
      `select key from (select key from trace_feedback final where ${scope} and not is_removed limit ${recentRuns})
        group by key order by count() desc`,
      params,
    );
    return {
      runs: runs.map((run) => ({ ...run, metadata: JSON.parse(run.metadata) as SeenRun["metadata"] })),
      feedbackKeys: keys.map(({ key }) => key),
    };
  }

  async payloadsOf(workspaceId: string, ids: readonly string[]): Promise<Map<string, RunPayloads>> {
    const values = new Values();
    const rows = await this.#rows.read<RunPayloads & { id: string }>(
      `select id, nullIf(inputs, 'null') as inputs, nullIf(outputs, 'null') as outputs from trace_runs final
        where workspace_id = ${values.bind(workspaceId, "UUID")} and id in ${values.bind(ids, "Array(UUID)")}
        and not is_gone`,
      values.params,
    );
    return new Map(rows.map(({ id, ...payloads }) => [id, payloads]));
  }

  async projectOf(workspaceId: string, runId: string): Promise<string | undefined> {
    const [row] = await this.#rows.read<{ project_id: string }>(
      "select project_id from trace_runs final where workspace_id = {w: UUID} and id = {id: UUID} and not is_gone",
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

  /** Keys first, so that no payload passes through a sort. */
  async #page(
    query: RunQuery,
    limit: number,
    fields: ReadonlySet<RunField>,
    keysSql: (conditions: string, values: Values) => string,
  ): Promise<FoundRuns> {
    const projectIds = await listLiveProjects(this.#database.sql, query);
    if (projectIds.length === 0) return { rows: [], next: null };
    const values = new Values();
    const text = keysSql(runConditions(query, projectIds, values), values);
    type Found = { found_id: string; found_start: string; sort_key?: string };
    const found = (await this.#rows.read<Found>(text, values.params)).map(
      ({ found_id, found_start, sort_key }) => ({
        ...{ id: found_id, start_time: found_start, ...(sort_key !== undefined && { sort_key }) },
      }),
    );
    const scope = { workspaceId: query.workspaceId, projectIds };
    const keys = await this.#fitting(found.slice(0, limit), fields, scope);
    const rows = await this.#read(keys, fields, scope);
    const last = keys.at(-1);
    if (!last || found.length === keys.length) return { rows, next: null };
    const { id, start_time: startTime, sort_key: key } = last;
    return { rows, next: { startTime, id, ...(key !== undefined && { key }) } };
  }

  /** As many of the runs as an answer may be large; one always fits. */
  async #fitting(keys: Key[], fields: ReadonlySet<RunField>, scope: Scope): Promise<Key[]> {
    const payloads = payloadFields.filter((field) => fields.has(field));
    if (payloads.length === 0 || keys.length < 2) return keys;
    const size = payloads.map((field) => `ifNull(length(${field}), 0)`).join(" + ");
    const values = new Values();
    const sized = await this.#rows.read<{ id: string; size: number }>(
      `select id, ${size} as size from trace_runs final where ${ofKeys(keys, scope, values)}`,
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

  async #read(keys: Key[], fields: ReadonlySet<RunField>, scope: Scope): Promise<RunRow[]> {
    if (keys.length === 0) return [];
    const values = new Values();
    const rows = await this.#rows.read<Record<string, unknown>>(
      `select ${selectList(fields)} from trace_runs final where ${ofKeys(keys, scope, values)}`,
      values.params,
    );
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

type Scope = { workspaceId: string; projectIds: string[] };

/** By the table's key as far as it is known: without the times every part would be looked at. */
function ofKeys(keys: Key[], { workspaceId, projectIds }: Scope, values: Values): string {
  const times = keys.map((key) => key.start_time).sort();
  const time = timeOf(values);
  return `workspace_id = ${values.bind(workspaceId, "UUID")} and project_id in ${values.bind(projectIds, "Array(UUID)")}
    and start_time >= ${time(times[0]!)} and start_time <= ${time(times.at(-1)!)}
    and id in ${values.bind(
      keys.map(({ id }) => id),
      "Array(UUID)",
    )} and not is_gone`;
}
