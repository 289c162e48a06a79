import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { migrateClickHouse } from "../../src/platform/clickhouse/migrate-clickhouse.ts";
import type { Sql } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { migrationsFolder } from "../../src/platform/package-facts.ts";
import { insertGone, insertJudged } from "./clickhouse-rows.ts";
import { type ClickHouse as Server, startClickHouse } from "./components/clickhouse.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import type { Judged } from "./filter-evaluator.ts";
import { Maker, makeRun } from "./generated-filters.ts";
import { insertFeedback, insertProject, insertRuns, type SampleRun, sampleRun } from "./trace-rows.ts";

export const [workspaceId, otherWorkspace] = [randomUUID(), randomUUID()];
export const [project, second, removed, foreign] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
/** A workspace of its own, for payloads of every form. */
export const documents = { workspace_id: randomUUID(), session_id: randomUUID() };
/** How many runs there are in live projects of the workspace. */
export const liveRuns = 48;

export type BothEngines = {
  testDatabase: TestDatabase;
  clickHouse: ClickHouse;
  /** Where it is, for connections of a test's own. */
  clickHouseUrl: string;
  runs: Judged[];
  tree: Trace;
  /** A run of which nothing is left but rows that count no more. */
  ghost: Judged;
  stop(): Promise<void>;
};

/** PostgreSQL and ClickHouse with the same runs and feedback in them; ClickHouse also with what came before. */
export async function startBothEngines(): Promise<BothEngines> {
  const testDatabase = await createTestDatabase();
  const server = await startClickHouse();
  const clickHouseUrl = await server.createDatabase();
  const clickHouse = await ClickHouse.open({ url: clickHouseUrl });
  await migrateTables(clickHouse);
  const tree = makeTrace();
  const runs = [...makeRuns(), tree.leaf, tree.root, tree.child];
  await fillPostgres(testDatabase.database.sql, runs);
  await insertJudged(clickHouse, runs);
  const ghost = { ...sampleRun({ workspace_id: workspaceId, session_id: project }), feedback: [] };
  await insertGone(clickHouse, [ghost, tree.root, ...runs.slice(0, 10)], "2025-12-31T23:00:00Z");
  await insertGone(clickHouse, [tree.child, ...runs.slice(10, 20)], "2026-01-01T00:00:02.250000Z");
  const stop = async () => {
    await clickHouse.close();
    await server.stop();
    await testDatabase.drop();
  };
  return { testDatabase, clickHouse, clickHouseUrl, runs, tree, ghost, stop };
}

/** A new database on the server, with the tables of runs. */
export async function openMigrated(server: Server, database?: string): Promise<ClickHouse> {
  const clickHouse = await ClickHouse.open({ url: database ?? (await server.createDatabase()) });
  await migrateTables(clickHouse);
  return clickHouse;
}

/** Brings an empty database to the newest migration. */
export async function migrateTables(clickHouse: ClickHouse): Promise<void> {
  const directory = join(migrationsFolder, "clickhouse");
  const logger = createLogger({ level: "silent" });
  await migrateClickHouse({ clickHouse, directory, logger, exclusively: (work) => work() });
}

function makeRuns(): Judged[] {
  const make = new Maker(7);
  return [project, project, second, removed, foreign].flatMap((session_id) =>
    Array.from({ length: 15 }, (_, n) => {
      const workspace_id = session_id === foreign ? otherWorkspace : workspaceId;
      const run = makeRun(make, { workspace_id, session_id });
      // Many begin at once.
      const step = Math.floor(n / 3);
      return { ...run, start_time: `2026-01-01T00:00:0${step}.${String(step * 7_919).padStart(6, "0")}Z` };
    }),
  );
}

type Trace = { root: Judged; child: Judged; leaf: Judged };

/** So that one key is given more often than any other. */
const praise = (run_id: string) =>
  [1, 1, 0.5].map((score) => ({ workspace_id: workspaceId, run_id, key: "f1", score }));

/** Of three runs; each begins after the one above it. */
function makeTrace(): Trace {
  const of = (name: string, seconds: number, above?: SampleRun): Judged => {
    const run = sampleRun({
      ...{ workspace_id: workspaceId, session_id: project, name, run_type: "tool" },
      start_time: `2026-01-01T00:00:0${seconds}.500000Z`,
      ...(above && { parent_run_id: above.id, parent_run_ids: [...above.parent_run_ids, above.id] }),
    });
    if (!above) return { ...run, feedback: praise(run.id) };
    const dotted_order = `${above.dotted_order}.${run.dotted_order}`;
    return { ...run, trace_id: above.trace_id, dotted_order, feedback: [] };
  };
  const root = of("root", 1);
  const child = of("child", 2, root);
  return { root, child, leaf: of("leaf", 3, child) };
}

async function fillPostgres(sql: Sql, runs: readonly Judged[]): Promise<void> {
  for (const [id, workspace_id] of [
    [project, workspaceId],
    [second, workspaceId],
    [removed, workspaceId],
    [foreign, otherWorkspace],
    [documents.session_id, documents.workspace_id],
  ] as const)
    await insertProject(sql, { id, workspace_id, name: id });
  await raw`update trace_projects set deleted_at = now() where id = ${removed}`.execute(sql);
  await insertRuns(sql, runs);
  await raw`insert into trace_run_ids (id, workspace_id, start_time) select id, workspace_id, start_time from trace_runs`.execute(
    sql,
  );
  await raw`update trace_runs set usage = array[prompt_tokens, completion_tokens, total_tokens, null, null, total_cost]`.execute(
    sql,
  );
  await insertFeedback(
    sql,
    runs.flatMap((run) => run.feedback),
  );
  await raw`update trace_feedback f set project_id = r.project_id from trace_runs r where r.id = f.run_id`.execute(
    sql,
  );
}
