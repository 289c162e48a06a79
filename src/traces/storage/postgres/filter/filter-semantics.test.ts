import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../../tests/support/database.ts";
import { type Judged, judge, print } from "../../../../../tests/support/filter-evaluator.ts";
import { Maker, makeRun, makeTree } from "../../../../../tests/support/generated-filters.ts";
import { oddPayloads } from "../../../../../tests/support/odd-payloads.ts";
import {
  insertFeedback,
  insertRuns,
  type SampleRun,
  sampleRun,
} from "../../../../../tests/support/trace-rows.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { pairsOf, pairTerm } from "../../../runs/term.ts";
import { compileRunFilter } from "./compile-filter.ts";

const workspace_id = randomUUID();
const session_id = randomUUID();
let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

async function matching(text: string): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`select r.id from trace_runs r
    where r.workspace_id = ${workspace_id} and ${compileRunFilter(text)} order by r.id`.execute(
    testDatabase.database.sql,
  );
  return rows.map((row) => row.id);
}

async function store(runs: Judged[]): Promise<void> {
  const { sql } = testDatabase.database;
  await raw`truncate trace_runs, trace_feedback`.execute(sql);
  await insertRuns(sql, runs);
  await insertFeedback(
    sql,
    runs.flatMap((run) => run.feedback),
  );
}

describe("compiled filters", () => {
  test.each([1, 2, 3])("agree with an independent evaluator, seed %i", async (seed) => {
    const make = new Maker(seed);
    const runs = Array.from({ length: 40 }, () => makeRun(make, { workspace_id, session_id }));
    await store(runs);
    let found = 0;
    for (let round = 0; round < 400; round++) {
      const tree = makeTree(make, 3);
      const text = print(tree);
      const expected = runs.filter((run) => judge(tree, run)).map((run) => run.id);
      expect(await matching(text), text).toEqual(expected.sort());
      if (expected.length > 0 && expected.length < runs.length) found += 1;
    }
    // The comparison would be worth little if the filters let through all or nothing.
    expect(found).toBeGreaterThan(150);
  });
});

describe("key/value pairs", () => {
  let named: Record<string, string>;
  beforeAll(async () => {
    const of = (name: string, metadata: SampleRun["metadata"], feedback: [string, number][] = []): Judged => {
      const run = sampleRun({ workspace_id, session_id, name, metadata });
      const given = feedback.map(([key, score]) => ({ workspace_id, run_id: run.id, key, score }));
      return { ...run, feedback: given };
    };
    const runs = [
      of("k=v", { k: "v" }, [["a", 1]]),
      of("k=w", { k: "w" }, [
        ["a", 0],
        ["b", 1],
      ]),
      of("other=v", { other: "v" }, [["b", 0]]),
      of("crossed", { k: "w", other: "v" }),
      of("empty", {}),
    ];
    await store(runs);
    named = Object.fromEntries(runs.map((run) => [run.id, run.name]));
  });

  test.each([
    ['and(eq(metadata_key, "k"), eq(metadata_value, "v"))', ["k=v"]],
    ['and(eq(metadata_value, "v"), eq(metadata_key, "k"))', ["k=v"]],
    ['and(eq(metadata_key, "k"), neq(metadata_value, "v"))', ["crossed", "k=w"]],
    ['neq(metadata_key, "k")', ["empty", "other=v"]],
    ['and(neq(metadata_key, "k"), neq(metadata_value, "v"))', ["empty"]],
    ['and(neq(metadata_key, "k"), eq(metadata_value, "v"))', ["other=v"]],
    ['and(in(metadata_key, ["k", "other"]), eq(metadata_value, "v"))', ["crossed", "k=v", "other=v"]],
    [
      'and(and(eq(metadata_key, "k"), eq(metadata_value, "w")), and(eq(metadata_key, "other"), eq(metadata_value, "v")))',
      ["crossed"],
    ],
    [
      'and(eq(metadata_key, "k"), eq(metadata_value, "w"), eq(metadata_key, "other"), eq(metadata_value, "v"))',
      ["crossed"],
    ],
    ['and(eq(metadata_key, "k"), not(like(metadata_value, "%v%")))', ["crossed", "k=w"]],
    ['or(eq(metadata_key, "k"), eq(metadata_value, "v"))', ["crossed", "k=v", "k=w", "other=v"]],
    [`has(metadata, '{"k": "v"}')`, ["k=v"]],
    ['exists(metadata, "other")', ["crossed", "other=v"]],
    ['and(eq(feedback_key, "a"), gt(feedback_score, 0.5))', ["k=v"]],
    ['and(eq(feedback_key, "a"), gte(feedback_score, 0), lt(feedback_score, 1))', ["k=w"]],
    ["neq(feedback_score, null)", ["k=v", "k=w", "other=v"]],
    ["eq(feedback_score, null)", ["crossed", "empty"]],
  ])("%s", async (text, expected) => {
    expect((await matching(text)).map((id) => named[id]).sort()).toEqual(expected);
  });
});

describe("payloads as clients may write them", () => {
  const findable = async (inputs: string, text: string): Promise<boolean> => {
    const terms = pairsOf(JSON.parse(inputs)).map(([key, value]) => pairTerm("inputs", key, value));
    const run = { ...sampleRun({ workspace_id, session_id }), feedback: [] };
    await store([run]);
    await raw`update trace_runs set inputs = ${inputs}, terms = ${terms}::int[]`.execute(
      testDatabase.database.sql,
    );
    return (await matching(text)).includes(run.id);
  };

  test.each(oddPayloads)("%s is found by %s", async (inputs, text) => {
    expect(await findable(inputs, text)).toBe(true);
    expect(await findable('{"other": "thing"}', text)).toBe(false);
  });
});
