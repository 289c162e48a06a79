import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openMigrated } from "../../../../../tests/support/both-engines.ts";
import { insertJudged } from "../../../../../tests/support/clickhouse-rows.ts";
import {
  type ClickHouse as Server,
  startClickHouse,
} from "../../../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../../../tests/support/components/clickhouse-library.ts";
import type { Judged } from "../../../../../tests/support/filter-evaluator.ts";
import { brokenCopies, randomComparisons } from "../../../../../tests/support/filter-texts.ts";
import { type SampleRun, sampleRun } from "../../../../../tests/support/trace-rows.ts";
import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { AppError } from "../../../../platform/errors.ts";
import type { Filter } from "../../../filter/filter.ts";
import { maxComparisons, maxLength } from "../../../filter/filter-parser.ts";
import { parseFilter } from "../../../filter/parse-filter.ts";
import { BoundedRows } from "../reading/bounded-rows.ts";
import { compileFilter } from "./compile-filter.ts";
import { Values } from "./condition.ts";

const workspace_id = randomUUID();
let server: Server;
let clickHouse: ClickHouse;

// The first run on a machine fetches it.
beforeAll(async () => {
  server = await startClickHouse();
  clickHouse = await openMigrated(server);
  const of = (run: Partial<SampleRun>): Judged => {
    const made = sampleRun({ workspace_id, session_id: randomUUID(), ...run });
    return { ...made, feedback: [{ workspace_id, run_id: made.id, key: "k", score: 1, value: "good" }] };
  };
  const metadata = { k: "v", list: [{ a: 1 }] };
  await insertJudged(clickHouse, [
    of({ tags: ["x"], metadata, inputs: { a: "x" }, end_time: "2026-01-01T00:00:05Z" }),
    of({ inputs: { "\0": "\ud800" }, outputs: { deep: { deeper: [1, "two", null] } }, error: "50% \\ _" }),
  ]);
}, clickHouseStartLimitMs);
afterAll(async () => {
  await clickHouse?.close();
  await server?.stop();
});

function accepted(text: string): Filter[] {
  try {
    return [parseFilter(text)];
  } catch (error) {
    expect(error, text).toBeInstanceOf(AppError);
    return [];
  }
}

/** The filters as one statement: a statement costs more than a filter. */
async function run(...filters: Filter[]): Promise<void> {
  const values = new Values();
  const conditions = filters.map((filter) => `ifNull(${compileFilter(filter, workspace_id, values)}, false)`);
  await new BoundedRows(clickHouse, 60_000).read(
    `select [${conditions.join(", ")}] as found from trace_runs final`,
    values.params,
  );
}

/** What the database itself refuses would be a 500: it must take every filter that was accepted. */
async function runAll(texts: readonly string[]): Promise<number> {
  const filters = texts.flatMap(accepted);
  for (let at = 0; at < filters.length; at += 20) {
    const together = filters.slice(at, at + 20);
    await run(...together).catch(async () => {
      for (const filter of together)
        await run(filter).catch((error: unknown) => {
          throw new Error(`ClickHouse refused ${JSON.stringify(filter)}`, { cause: error });
        });
    });
  }
  return filters.length;
}

describe("filters that are accepted run on ClickHouse", { timeout: 300_000 }, () => {
  test("random comparisons", async () => {
    expect(await runAll(randomComparisons(11, 3_000))).toBeGreaterThan(500);
  });

  test("broken copies of a good filter", async () => {
    expect(await runAll(brokenCopies(13, 1_500))).toBeGreaterThan(100);
  });

  const many = (count: number, of: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => of(index)).join(",");
  const long = maxLength - 100;
  test.each([
    ["nots", `${"not(".repeat(199)}eq(is_root, true)${")".repeat(199)}`],
    ["groups of one", `${"and(or(".repeat(99)}search("x")${"))".repeat(99)}`],
    [
      "groups of two",
      `${many(198, (n) => `${n % 2 ? "or" : "and"}(eq(is_root, true)`)},eq(is_root, true)${")".repeat(198)}`,
    ],
    ["names", `or(${many(maxComparisons, (n) => `eq(name, "${n}")`)})`],
    ["entries", `or(${many(100, (n) => `and(eq(input_key, "k${n}"), eq(input_value, "v"))`)})`],
    ["absent entries", `and(${many(100, (n) => `and(neq(output_key, "k${n}"), neq(output_value, "v"))`)})`],
    ["values", `or(${many(maxComparisons, (n) => `eq(input_value, "${n}")`)})`],
    [
      "values and a long one",
      `or(${many(199, () => 'eq(input_value, "1")')},eq(name, "${"x".repeat(150_000)}"))`,
    ],
    ["scores", `or(${many(50, (n) => `and(eq(feedback_key, "${n}"), gt(feedback_score, ${n}))`)})`],
    ["words", `search("${"word ".repeat(maxComparisons)}")`],
    ["paths", `or(${many(maxComparisons, (n) => `exists(inputs, "a.${n}.b")`)})`],
    ["a path of keys", `exists(inputs, "${"a.".repeat(400)}a")`],
    ["a path of places", `exists(inputs, "${"1.".repeat(400)}1")`],
    ["the longest path", `exists(inputs, "${"1.".repeat(long / 2)}1")`],
    ["the longest text", `eq(name, "${"x".repeat(long)}")`],
    ["the longest text of many bytes", `like(name, "%${"\u{1f642}é'".repeat(long / 8)}%")`],
    ["the longest list", `in(name, [${many(long / 10, (n) => `"${n}"`)}])`],
    ["a long text in a list", `in(name, ["a", "${"x".repeat(long - 50)}", "b"])`],
    ["times", `in(start_time, [${many(5_000, () => '"2026-01-01T00:00:00Z"')}])`],
    ["costs", `in(total_cost, [${many(20_000, (n) => `${n}.5`)}])`],
    ["objects in objects", `has(inputs, '${'{"a":'.repeat(32)}1${"}".repeat(32)}')`],
    ["lists in lists", `has(inputs, '${"[".repeat(32)}1${"]".repeat(32)}')`],
    ["many keys", `has(inputs, '{${many(300, (n) => `"k${n}":{"a":${n}}`)}}')`],
  ])("%s", async (_, text) => {
    await run(parseFilter(text));
  });

  test.each([
    ["very deep", `has(inputs, '${'{"a":'.repeat(500)}1${"}".repeat(500)}')`],
    ["deep", `has(inputs, '${"[".repeat(60)}1${"]".repeat(60)}')`],
    ["very many", `has(inputs, '[${many(20_000, String)}]')`],
  ])("or are refused as what they are: %s", async (_, text) => {
    const refused = (async () => await run(parseFilter(text)))();
    await expect(refused).rejects.toMatchObject({
      code: "traces.query_too_large",
      kind: "unprocessable",
    });
  });

  test("and their text grows no faster than they do", () => {
    const size = (text: string) => compileFilter(parseFilter(text), workspace_id, new Values()).length;
    const path = (length: number) => size(`exists(inputs, "${"1.".repeat(length)}1")`);
    expect(path(400)).toBeLessThan(path(1) + 50);
    const nested = (depth: number) => size(`has(inputs, '${'{"a":'.repeat(depth)}1${"}".repeat(depth)}')`);
    expect(nested(32)).toBeLessThan(5 * nested(8));
  });
});

const hostile = "x'); drop table trace_runs; --";
const written = JSON.stringify(hostile);
test.each([
  ...[`eq(name, ${written})`, `in(name, [${written}])`, `like(name, ${written})`, `search(${written})`],
  ...[`search(inputs, ${written})`, `has(tags, ${written})`, `like(tags, ${written})`],
  `has(metadata, ${JSON.stringify(JSON.stringify({ [hostile]: hostile }))})`,
  `exists(metadata, ${written})`,
  `and(eq(metadata_key, ${written}), neq(metadata_value, ${written}))`,
  `and(eq(feedback_key, ${written}), eq(feedback_value, ${written}))`,
])("stays a parameter: %s", async (text) => {
  const values = new Values();
  expect(compileFilter(parseFilter(text), workspace_id, values)).not.toMatch(/drop|--|x'/);
  expect(JSON.stringify(values.params)).toContain("drop");
  await run(parseFilter(text));
  expect(await clickHouse.rows("select count() as n from trace_runs final")).toEqual([{ n: 2 }]);
});
