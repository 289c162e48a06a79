import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../../tests/support/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { createPartition } from "./partition-store.ts";

let subject: TestDatabase;
beforeAll(async () => {
  subject = await createTestDatabase();
});
afterAll(() => subject.drop());

/** What was stored, and how. */
async function store(start: string, inputs: string) {
  const id = randomUUID();
  const { sql } = subject.database;
  await raw`insert into trace_runs (id, workspace_id, project_id, trace_id, is_root, name, run_type, start_time, status,
      dotted_order, inputs)
    values (${id}, ${id}, ${id}, ${id}, true, 'agent', 'chain', ${start}, 'success', 'x', ${inputs})`.execute(
    sql,
  );
  const { rows } = await raw<{ place: string; compression: string | null; inputs: string }>`
    select tableoid::regclass::text as place, pg_column_compression(inputs) as compression, inputs
    from trace_runs where id = ${id}`.execute(sql);
  return rows[0]!;
}

test("a payload is compressed in its row where PostgreSQL has lz4, in every partition", async () => {
  const { sql } = subject.database;
  const { rows } = await raw<{ methods: string[] }>`
    select enumvals as methods from pg_settings where name = 'default_toast_compression'`.execute(sql);
  const compression = rows[0]!.methods.includes("lz4") ? "lz4" : null;
  const inputs = "the same words again and again ".repeat(100);
  const month = { name: "trace_runs_p202612", from: "2026-12-01", to: "2027-01-01" };
  await subject.database.transaction((tx) => createPartition(tx, month));
  expect([await store("2026-12-05", inputs), await store("1990-01-01", inputs)]).toEqual([
    { place: "trace_runs_p202612", compression, inputs },
    { place: "trace_runs_default", compression, inputs },
  ]);
});
