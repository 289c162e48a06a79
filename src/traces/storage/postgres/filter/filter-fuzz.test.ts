import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../../tests/support/database.ts";
import { brokenCopies, randomComparisons, randomTexts } from "../../../../../tests/support/filter-texts.ts";
import { insertRuns, type SampleRun, sampleRun } from "../../../../../tests/support/trace-rows.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { AppError } from "../../../../platform/errors.ts";
import { maxComparisons } from "../../../filter/filter-parser.ts";
import { parseFilter } from "../../../filter/parse-filter.ts";
import { compileFilter, compileRunFilter } from "./compile-filter.ts";

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { sql } = testDatabase.database;
  // Rows to be judged, also one whose payload the database's own JSON refuses.
  const of = (run: Partial<SampleRun>) =>
    sampleRun({ workspace_id: randomUUID(), session_id: randomUUID(), ...run });
  await insertRuns(sql, [
    of({
      tags: ["x"],
      metadata: { k: "v", list: [{ a: 1 }] },
      inputs: { a: "x" },
      end_time: "2026-01-01T00:00:05Z",
    }),
    of({ inputs: { "\0": "\ud800" }, outputs: { deep: { deeper: [1, "two", null] } }, error: "50% \\ _" }),
  ]);
  await raw`insert into trace_feedback (id, workspace_id, run_id, key, score, value)
    select gen_random_uuid(), workspace_id, id, 'k', 1, '"good' from trace_runs`.execute(sql);
});
afterAll(() => testDatabase.drop());

/** What the database itself refuses would be a 500: it must take every filter that was accepted. */
async function run(text: string): Promise<boolean> {
  let filter: ReturnType<typeof parseFilter>;
  try {
    filter = parseFilter(text);
  } catch (error) {
    expect(error, text).toBeInstanceOf(AppError);
    expect((error as AppError).kind).toBe("unprocessable");
    const context = (error as AppError).issues![0]!.ctx as { offset: number };
    expect(context.offset).toBeLessThanOrEqual(text.length);
    return false;
  }
  await raw`select r.id from trace_runs r where ${compileFilter(filter, { alias: "r" })}`.execute(
    testDatabase.database.sql,
  );
  return true;
}

test("random texts are refused with a place, never with a crash", async () => {
  for (const text of randomTexts(7, 20_000)) await run(text);
});

test("random well-formed comparisons are refused or run", async () => {
  let accepted = 0;
  for (const text of randomComparisons(11, 3_000)) if (await run(text)) accepted += 1;
  expect(accepted).toBeGreaterThan(500);
});

test("broken copies of a good filter are refused or run", async () => {
  for (const text of brokenCopies(13, 3_000)) await run(text);
});

test("the deepest and the longest filters that are accepted run", async () => {
  expect(await run(`${"not(".repeat(199)}eq(is_root, true)${")".repeat(199)}`)).toBe(true);
  expect(await run(`${"and(or(".repeat(99)}search("x")${"))".repeat(99)}`)).toBe(true);
  const many = (count: number, test: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => test(index)).join(",");
  expect(await run(`or(${many(maxComparisons, (i) => `eq(name, "${i}")`)})`)).toBe(true);
  const pairs = maxComparisons / 2;
  expect(await run(`or(${many(pairs, (i) => `and(eq(input_key, "k${i}"), eq(input_value, "v"))`)})`)).toBe(
    true,
  );
  expect(
    await run(`and(${many(pairs, (i) => `and(neq(output_key, "k${i}"), neq(output_value, "v"))`)})`),
  ).toBe(true);
  expect(await run(`search("${"word ".repeat(maxComparisons)}")`)).toBe(true);
});

const hostile = "x'); drop table trace_runs; --";
const written = JSON.stringify(hostile);
test.each([
  `eq(name, ${written})`,
  `in(name, [${written}])`,
  `like(name, ${written})`,
  `search(${written})`,
  `search(inputs, ${written})`,
  `has(tags, ${written})`,
  `like(tags, ${written})`,
  `has(metadata, ${JSON.stringify(JSON.stringify({ [hostile]: hostile }))})`,
  `exists(metadata, ${written})`,
  `and(eq(metadata_key, ${written}), neq(metadata_value, ${written}))`,
  `and(eq(input_key, ${written}), like(input_value, ${written}))`,
  `and(eq(feedback_key, ${written}), eq(feedback_value, ${written}))`,
])("stays a parameter: %s", async (text) => {
  const { sql } = testDatabase.database;
  const statement = raw`select r.id from trace_runs r where ${compileRunFilter(text)}`.compile(sql);
  expect(statement.sql).not.toMatch(/drop|--|x'/);
  expect(JSON.stringify(statement.parameters)).toContain("drop");
  await raw`select r.id from trace_runs r where ${compileRunFilter(text)}`.execute(sql);
  const { rows } = await raw`select to_regclass('trace_runs') is not null as there`.execute(sql);
  expect(rows).toEqual([{ there: true }]);
});
