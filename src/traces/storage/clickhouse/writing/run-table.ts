import type { ClickHouse, QueryOptions } from "../../../../platform/clickhouse/clickhouse.ts";
import { noAnswer } from "../../../../platform/clickhouse/clickhouse-errors.ts";
import { payloadFields } from "../../../runs/run-change.ts";
import type { RunKey } from "../../../runs/stored-run.ts";
import type { CertainInsert } from "./certain-insert.ts";
import { columnTime, type SpendingRow, type StoredRow, storedColumns, type WrittenRow } from "./run-row.ts";
import { binaryRows } from "./run-row-binary.ts";

export type FoundRow = StoredRow & { extra_text: string | null };
/** A run as far as it has a place in its trace. */
export type PlacedRow = Pick<StoredRow, "id" | "trace_id" | "parent_run_ids" | "dotted_order">;

/** At once; the ids are part of the request. */
const maxIds = 2_000;
/** Changes of many workspaces, or ones that name very many runs, must not take all of the server. */
const askedAtOnce = 8;
/** A request's worth of each of the two texts that one run has. */
const maxBytesOfOne = 160 * 1024 ** 2;
const maxBytesOfSome = 96 * 1024 ** 2;
const maxCharsOfAll = 256 * 1024 ** 2;
/** As long as an insert may take: whoever reads holds locks, too. */
const readLimitMs = 20_000;
/** Rows of before have the text of an error in `failure`: only how many there are is read. */
const columns = storedColumns
  .map((name) => (name === "failure" ? "if(failure.size0 = 0, [], ['']) as failure" : name))
  .join(", ");
/** All rows of a run's place have its start, so they are in one partition. */
const anyRows = { do_not_merge_across_partitions_select_final: 1 };
/** All rows of a run have its id, so those found by it are all of them: no others need be read. */
const byId = { ...anyRows, use_skip_indexes_if_final_exact_mode: 0 };
/**
 * The words of what is new are indexed when it is merged for the first time, within minutes: that spares a quarter of an insert, and
 * what is not merged yet is little enough to be read.
 */
const insertSettings = {
  exclude_materialize_skip_indexes_on_insert:
    "words_of_name, words_of_error, words_of_error_text, words_of_inputs, words_of_outputs",
};

const charsOf = ({ dotted_order, metadata, extra_text }: FoundRow) =>
  dotted_order.length + metadata.length + (extra_text?.length ?? 0);
const keysOf = (workspaceId: string, ids: readonly string[]) => ids.map((id) => ({ id, workspaceId }));

/** What writing asks of `trace_runs` and puts there. Payloads are not read, but for `extra`, which is merged. */
export class RunTable {
  readonly #clickHouse: ClickHouse;
  readonly #inserts: CertainInsert;
  readonly #until: number;

  constructor(clickHouse: ClickHouse, inserts: CertainInsert, until = Number.POSITIVE_INFINITY) {
    this.#clickHouse = clickHouse;
    this.#inserts = inserts;
    this.#until = until;
  }

  /** The same, where nothing is begun after this time, and nothing is read for longer. */
  within(limitMs: number): RunTable {
    return new RunTable(this.#clickHouse, this.#inserts, performance.now() + limitMs);
  }

  /**
   * The rows that count of these runs: one each, but for a run whose move was cut short. Fails where they are more than this process
   * can hold: fewer must be asked for.
   */
  async find(
    asked: readonly RunKey[],
    { withExtra, areLikelyNew = false }: { withExtra: boolean; areLikelyNew?: boolean },
  ): Promise<FoundRow[]> {
    // Whether there is any row of a run costs half as much as what its rows amount to.
    const keys = areLikelyNew ? await this.#findRows(asked) : asked;
    const extra = withExtra ? "extra" : "cast(null, 'Nullable(String)')";
    let chars = 0;
    return await this.#ofWorkspaces(keys, async (w, ids) => {
      const most = ids.length === 1 ? maxBytesOfOne : maxBytesOfSome;
      const rows = await this.#rows<FoundRow>(
        `select ${columns}, ${extra} as extra_text from trace_runs final
          prewhere workspace_id = {w: UUID} and id in {ids: Array(UUID)} where not is_gone`,
        { params: { w, ids }, settings: { ...byId, max_result_bytes: most, result_overflow_mode: "throw" } },
      );
      for (const row of rows) chars += charsOf(row);
      if (chars > maxCharsOfAll) throw new Error("The runs that a write is about are too large together.");
      return rows;
    });
  }

  /** Those of which there are any rows, whether they count or not. */
  async #findRows(keys: readonly RunKey[]): Promise<RunKey[]> {
    return await this.#ofWorkspaces(keys, (w, ids) =>
      this.#rows<RunKey>(
        `select distinct id, workspace_id as "workspaceId" from trace_runs
          prewhere workspace_id = {w: UUID} and id in {ids: Array(UUID)}`,
        { params: { w, ids } },
      ),
    );
  }

  async findStored(keys: readonly RunKey[]): Promise<RunKey[]> {
    return await this.#ofWorkspaces(keys, (w, ids) =>
      this.#rows<RunKey>(
        `select distinct id, workspace_id as "workspaceId" from trace_runs final
          prewhere workspace_id = {w: UUID} and id in {ids: Array(UUID)} where not is_gone`,
        { params: { w, ids }, settings: byId },
      ),
    );
  }

  /** The runs right below these. */
  async findChildren(keys: readonly RunKey[]): Promise<SpendingRow[]> {
    return await this.#ofWorkspaces(keys, (w, ids) =>
      this.#rows<SpendingRow>(
        `select id, workspace_id, parent_run_ids, run_type, usage, below from trace_runs final
          where workspace_id = {w: UUID} and hasAny(parent_run_ids, {ids: Array(UUID)})
          and parent_run_ids[-1] in {ids: Array(UUID)} and not is_gone`,
        { params: { w, ids }, settings: anyRows },
      ),
    );
  }

  /**
   * The runs of these traces that do not hang below their root, with their parents and roots: what is needed to put them there. Most
   * traces have none, and may have very many runs.
   */
  async findAstray(workspaceId: string, traceIds: readonly string[]): Promise<PlacedRow[]> {
    const ofTraces = "workspace_id = {w: UUID} and trace_id in {ids: Array(UUID)} and not is_gone";
    const isAstray = "id != trace_id and parent_run_ids[1] != trace_id";
    const found = await this.#ofWorkspaces(keysOf(workspaceId, traceIds), (w, ids) =>
      this.#rows<{ trace_id: string }>(
        `select distinct trace_id from trace_runs final where ${ofTraces} and ${isAstray}`,
        { params: { w, ids }, settings: anyRows },
      ),
    );
    const astray = found.map((row) => row.trace_id);
    return await this.#ofWorkspaces(keysOf(workspaceId, astray), (w, ids) =>
      this.#rows<PlacedRow>(
        `select id, trace_id, parent_run_ids, dotted_order from trace_runs final
          where ${ofTraces} and (id = trace_id or ${isAstray}
            or id in (select parent_run_ids[-1] from trace_runs final where ${ofTraces} and ${isAstray}))`,
        { params: { w, ids }, settings: anyRows },
      ),
    );
  }

  async findRootSpans(
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<{ id: string; span: string }[]> {
    return await this.#ofWorkspaces(keysOf(workspaceId, traceIds), (w, ids) =>
      this.#rows<{ id: string; span: string }>(
        `select id, JSONExtractString(metadata, 'OTEL_SPAN_ID') as span from trace_runs final
          prewhere workspace_id = {w: UUID} and id in {ids: Array(UUID)}
          where not is_gone and is_root and JSONHas(metadata, 'OTEL_SPAN_ID')`,
        { params: { w, ids }, settings: byId },
      ),
    );
  }

  /**
   * Takes the payloads of runs along to where they will stand: to rows that do not count yet. Payloads of one run may be as large as
   * a request, so they do not pass through here.
   */
  async copyPayloads(moved: readonly WrittenRow[]): Promise<void> {
    // Two workspaces may have runs of one id.
    const rowsByKey = new Map(moved.map((row) => [row.workspace_id + row.id, row]));
    const keys = moved.map((row) => ({ id: row.id, workspaceId: row.workspace_id }));
    const payloads = [...payloadFields, "error_text"].join(", ");
    await this.#ofWorkspaces(keys, async (w, ids) => {
      this.#checkTime();
      const rows = ids.map((id) => rowsByKey.get(w + id)!);
      await this.#inserts.run(
        `insert into trace_runs (workspace_id, project_id, start_time, id, trace_id, is_gone, ${payloads})
          select workspace_id, {projects: Array(UUID)}[indexOf({ids: Array(UUID)}, id)],
            toDateTime64({starts: Array(String)}[indexOf({ids: Array(UUID)}, id)], 6, 'UTC'), id, trace_id, true, ${payloads}
          from trace_runs final prewhere workspace_id = {w: UUID} and id in {ids: Array(UUID)} where not is_gone`,
        {
          ...{ w, ids, projects: rows.map((row) => row.project_id) },
          starts: rows.map((row) => columnTime(row.start_time)),
        },
        // What was copied once may have to be copied again.
        { ...byId, insert_deduplicate: 0 },
      );
      return [];
    });
  }

  /** Rows of one month are stored all or none. */
  async insert(rows: readonly WrittenRow[]): Promise<void> {
    this.#checkTime();
    await this.#inserts.insert("trace_runs", binaryRows(rows), insertSettings);
  }

  #rows<Row>(query: string, options: QueryOptions): Promise<Row[]> {
    this.#checkTime();
    const limitMs = Math.min(readLimitMs, Math.ceil(this.#until - performance.now()));
    return this.#clickHouse.rows<Row>(query, { ...options, limitMs });
  }

  #checkTime(): void {
    if (performance.now() >= this.#until) throw noAnswer(this.#clickHouse.where, undefined);
  }

  async #ofWorkspaces<Row>(
    keys: readonly RunKey[],
    ask: (workspaceId: string, ids: string[]) => Promise<Row[]>,
  ): Promise<Row[]> {
    const byWorkspace = Map.groupBy(keys, (key) => key.workspaceId);
    const questions: [workspaceId: string, ids: string[]][] = [];
    for (const [workspaceId, some] of byWorkspace) {
      const ids = [...new Set(some.map(({ id }) => id))];
      for (let at = 0; at < ids.length; at += maxIds)
        questions.push([workspaceId, ids.slice(at, at + maxIds)]);
    }
    const found: Row[][] = [];
    for (let at = 0; at < questions.length; at += askedAtOnce) {
      const some = questions.slice(at, at + askedAtOnce);
      found.push(...(await Promise.all(some.map(([workspaceId, ids]) => ask(workspaceId, ids)))));
    }
    return found.flat();
  }
}
