import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { KeyedLock } from "../../../../platform/keyed-lock.ts";
import type { Logger } from "../../../../platform/logger.ts";
import { cutoffOf, type Retention } from "../../../runs/retention.ts";
import { deleteFeedbackOf } from "../../feedback-row-store.ts";
import type { RunPlace, RunRemoval } from "../../run-storage.ts";
import { timeOf } from "../filter/compile-field.ts";
import { Values } from "../filter/condition.ts";
import { timeText } from "../reading/run-field-sql.ts";
import { holdWorkspaces } from "../writing/workspace-lock-store.ts";
import { deleteCompanions } from "./run-companion-store.ts";
import { RunSpace } from "./run-space.ts";

const batch = 5_000;
/** ClickHouse deletes many runs as fast as a few, so what is past its time waits until it is many. */
const expiredAtOnce = 100_000;

export type ClickHouseRunRemovalOptions = { clickHouse: ClickHouse; database: Database; logger: Logger };

type Doomed = { run: string; start: string; is_gone: boolean };

const scope = ({ workspaceId, projectId }: RunPlace, values: Values) =>
  `workspace_id = ${values.bind(workspaceId, "UUID")} and project_id = ${values.bind(projectId, "UUID")}`;

/** Attachments and feedback go first, both where they are and where they are copied, then the runs: what is cut short is found again. */
export class ClickHouseRunRemoval implements RunRemoval {
  readonly #clickHouse: ClickHouse;
  readonly #database: Database;
  readonly #space: RunSpace;
  /** Many at once would each wait for the lock with a connection of their own, until none is left. */
  readonly #turns = new KeyedLock();

  constructor(options: ClickHouseRunRemovalOptions) {
    this.#clickHouse = options.clickHouse;
    this.#database = options.database;
    this.#space = new RunSpace(options);
  }

  async removeOfProject(place: RunPlace, limit: number): Promise<number> {
    const doomed = await this.#list(place, () => "true", `${limit}`);
    return await this.#removeListed(place, doomed, (remove) => remove());
  }

  /** A write of one of the runs that began before would leave half of it: it is waited for, and the next one finds nothing. */
  async removeOfTraces(place: RunPlace, traceIds: readonly string[], limit: number): Promise<number> {
    const ofTraces = (values: Values) =>
      `trace_id in ${values.bind(traceIds, "Array(UUID)")} and not is_gone`;
    const doomed = await this.#list(place, ofTraces, `${limit}`);
    return await this.#removeListed(place, doomed, (remove) =>
      this.#turns.run("traces", () =>
        this.#database.transaction(async (tx) => {
          await holdWorkspaces(tx, [place.workspaceId]);
          await remove();
        }),
      ),
    );
  }

  async removeFeedbackOf(place: RunPlace): Promise<void> {
    await deleteFeedbackOf(this.#database.sql, place);
    await this.#clickHouse.run(
      "delete from trace_feedback where workspace_id = {w: UUID} and project_id = {p: UUID}",
      { params: { w: place.workspaceId, p: place.projectId } },
    );
  }

  async removeExpired(retentions: readonly Retention[], now: Date, signal: AbortSignal): Promise<void> {
    for (const retention of retentions) {
      const place = { workspaceId: retention.workspace_id, projectId: retention.project_id };
      const before = cutoffOf(retention, now).toISOString();
      while (await this.#removeBefore(place, before, signal)) signal.throwIfAborted();
    }
    await this.#space.free(signal);
  }

  /** All rows of these runs, wherever they began before. */
  async #removeListed(
    place: RunPlace,
    doomed: readonly Doomed[],
    inTurn: (remove: () => Promise<void>) => Promise<void>,
  ): Promise<number> {
    if (doomed.length === 0) return 0;
    await this.#removeCompanions(place, doomed);
    const values = new Values();
    const ids = values.bind([...new Set(doomed.map(({ run }) => run))], "Array(UUID)");
    const text = `delete from trace_runs where ${scope(place, values)} and id in ${ids}`;
    await inTurn(() => this.#clickHouse.run(text, { params: values.params }));
    return doomed.length;
  }

  /** Whether there may be more. By the time alone: a statement with a hundred thousand ids would be as slow as many. */
  async #removeBefore(place: RunPlace, before: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const doomed = await this.#list(
      place,
      (values) => `start_time < ${timeOf(values)(before)}`,
      `${expiredAtOnce} with ties`,
    );
    const last = doomed.at(-1);
    if (!last) return false;
    await this.#removeCompanions(place, doomed, signal);
    const values = new Values();
    await this.#clickHouse.run(
      `delete from trace_runs where ${scope(place, values)} and start_time <= ${timeOf(values)(last.start)}`,
      { params: values.params },
    );
    return doomed.length >= expiredAtOnce;
  }

  /** The oldest first; rows that count no more are among them. */
  async #list(place: RunPlace, which: (values: Values) => string, limit: string): Promise<Doomed[]> {
    const values = new Values();
    return await this.#clickHouse.rows<Doomed>(
      `select toString(id) as run, ${timeText("start_time")} as start, is_gone from trace_runs final
        where ${scope(place, values)} and ${which(values)} order by start_time limit ${limit}`,
      { params: values.params },
    );
  }

  /** Of runs that moved to another start nothing goes with the rows they left. */
  async #removeCompanions(place: RunPlace, doomed: readonly Doomed[], signal?: AbortSignal): Promise<void> {
    const ids = doomed.filter(({ is_gone }) => !is_gone).map(({ run }) => run);
    for (let at = 0; at < ids.length; at += batch) {
      signal?.throwIfAborted();
      await this.#removeCompanionsOf(place.workspaceId, ids.slice(at, at + batch));
    }
  }

  async #removeCompanionsOf(workspaceId: string, runIds: readonly string[]): Promise<void> {
    await deleteCompanions(this.#database.sql, workspaceId, runIds);
    const values = new Values();
    const judged = await this.#clickHouse.rows<{ run_id: string }>(
      `select distinct run_id from trace_feedback where workspace_id = ${values.bind(workspaceId, "UUID")}
        and run_id in ${values.bind(runIds, "Array(UUID)")}`,
      { params: values.params },
    );
    if (judged.length === 0) return;
    const gone = new Values();
    const ids = gone.bind(
      judged.map(({ run_id }) => run_id),
      "Array(UUID)",
    );
    await this.#clickHouse.run(
      `delete from trace_feedback where workspace_id = ${gone.bind(workspaceId, "UUID")} and run_id in ${ids}`,
      { params: gone.params },
    );
  }
}
