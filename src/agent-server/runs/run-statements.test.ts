import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import type { Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import {
  listStatement,
  readOwnStatement,
  readStatement,
  writeBatchStatement,
} from "../checkpoints/checkpoint-statements.ts";
import { appendStatement } from "../delivery/event-store.ts";
import { findOwnershipsStatement } from "../protocol/protocol-store.ts";
import {
  claimLoneRun,
  claimRuns,
  exhaustedRuns,
  expireLeases,
  findTargets,
  finishRuns,
  heartbeatRuns,
  insertRuns,
  lookForWork,
} from "./run-statements.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 1 });
});
afterAll(() => test.drop());

/** The plan PostgreSQL keeps for a prepared statement, for all values. */
async function keptPlan({ name, text }: Statement): Promise<string> {
  const { sql } = test.database;
  const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map((found) => Number(found[1])));
  const values = count > 0 ? `(${Array.from({ length: count }, () => "null").join(", ")})` : "";
  await raw`set plan_cache_mode = force_generic_plan`.execute(sql);
  await raw.raw(`prepare ${name} as ${text}`).execute(sql);
  const { rows } = await raw.raw<{ "QUERY PLAN": string }>(`explain execute ${name}${values}`).execute(sql);
  await raw.raw(`deallocate ${name}`).execute(sql);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

async function serverVersion(): Promise<number> {
  const { rows } = await raw<{
    version: number;
  }>`select current_setting('server_version_num')::int as version`.execute(test.database.sql);
  return rows[0]!.version;
}

/** They are planned when a server is new and keep that plan while its tables grow. */
describe("statements of every run, planned for empty tables", () => {
  it.for([
    findTargets,
    insertRuns,
    heartbeatRuns,
    writeBatchStatement,
    readStatement,
    readOwnStatement,
    listStatement({ workspaceId: "", threadId: "", checkpointNs: "", limit: 10 }, undefined, 10).statement,
    appendStatement,
    findOwnershipsStatement,
  ])("$name reads no whole table", async (statement, { skip }) => {
    const plan = await keptPlan(statement);
    // PostgreSQL before 17 thinks several look-ups dearer than an empty table; tests/plans.test.ts reads this one's plan
    // with rows on 15 too, and the first analysis of the table replaces the kept plan.
    if (statement === heartbeatRuns && (await serverVersion()) < 170_000) skip("an older PostgreSQL");
    expect(plan).toContain("Index");
    expect(plan).not.toMatch(/Seq Scan on (threads|runs|assistants|checkpoint|thread_events)/);
  });

  it.each([insertRuns, finishRuns, writeBatchStatement, appendStatement])(
    "$name finds no run by its status alone: such an index holds all that ended since the last vacuum",
    async (statement) => {
      const plan = await keptPlan(statement);
      expect(plan).not.toMatch(/runs_leased|runs_waiting/);
      for (const [, condition] of plan.matchAll(/runs_one_running on .*\n\s*(.*)/g))
        expect(condition).toMatch(/^Index Cond: \(thread_id = /);
    },
  );

  it.each([claimRuns, claimLoneRun, lookForWork, expireLeases, exhaustedRuns])(
    "$name looks where few runs are",
    async (statement) => {
      expect(await keptPlan(statement)).toMatch(
        /runs_waiting|runs_leased|runs_one_running|runs_pending_of_thread/,
      );
    },
  );
});
