import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../../tests/support/database.ts";
import { fillTables } from "../../../../../tests/support/filled-tables.ts";
import { planOf } from "../../../../../tests/support/statement-plans.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { listOvertaken, listOvertakenSpending, overtaken, overtakenSpending } from "./parked-store.ts";

const tables = ["trace_parked_patches", "trace_parked_usage"];
const hourAgo = () => new Date(Date.now() - 3_600_000);
let test: TestDatabase;

/** A row a second, for hours, whose runs never came; and some that are stored. */
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 1 });
  const { sql } = test.database;
  await fillTables(sql, [...tables, "trace_runs"], { from: 0, to: 20_000 });
  for (const table of tables) {
    await raw`insert into ${raw.ref(table)} (run_id, workspace_id, received_at, ${raw.raw(table === tables[0] ? "patch" : "usage")})
      select id, workspace_id, case when start_time = (select max(start_time) from trace_runs) then now()
        else now() - interval '2 hours' end, ${raw.raw(table === tables[0] ? "'{}'" : "'{0}'")}
      from trace_runs order by start_time desc limit 3`.execute(sql);
    await raw`analyze ${raw.ref(table)}`.execute(sql);
  }
});
afterAll(() => test.drop());

it.each([
  ["patches", listOvertaken],
  ["tokens and costs", listOvertakenSpending],
])("%s that wait for stored runs are found, of a while or of all time", async (_, list) => {
  const { sql } = test.database;
  expect(await list(sql, { limit: 10, since: hourAgo() })).toHaveLength(1);
  expect(await list(sql, { limit: 10, since: undefined })).toHaveLength(3);
  expect(await list(sql, { limit: 2, since: undefined })).toHaveLength(2);
});

it.each([
  ["patches", overtaken],
  ["tokens and costs", overtakenSpending],
])("%s of a while are found without reading all", async (_, statement) => {
  const plan = await planOf(test.database.sql, statement, [hourAgo().toISOString(), "500"]);
  expect(JSON.stringify(plan)).not.toMatch(/"Seq Scan","[^}]*trace_parked/);
  expect(JSON.stringify(plan)).toMatch(/trace_parked_(patches|usage)_by_age/);
});
