import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { textArrayLiteral } from "../storage/postgres/writing/array-literal.ts";
import { addTerms, pairsOf, pairTerm } from "./term.ts";

let test_: TestDatabase;
beforeAll(async () => {
  test_ = await createTestDatabase();
});
afterAll(() => test_.drop());

test.each([
  { a: { b: [1, 2, { c: "x" }], d: true }, e: "text", "dotted.key": 1 },
  { list: [[1], [[2]]] },
  { empty: {}, none: [], long: "y".repeat(400) },
  "just text",
  [{ role: "user" }, { role: "ai" }],
  { "": { "": 1, a: [{ "": "x" }] }, b: { "": null } },
])("the pairs of %j are the same here and in the database", async (payload) => {
  const { rows } = await raw<{ k: string; v: string }>`
    select k, v from trace_pairs(${JSON.stringify(payload)}) where v is not null
  `.execute(test_.database.sql);
  const pairs = pairsOf(payload);
  expect(pairs.map(String).sort()).toEqual(rows.map(({ k, v }) => String([k, v])).sort());
  const terms = new Set<number>();
  addTerms("inputs", payload, terms);
  expect(terms).toEqual(new Set(pairs.map(([key, value]) => pairTerm("inputs", key, value))));
});

test("a pair's term tells source, key and value apart", () => {
  const terms = [
    pairTerm("inputs", "a", "b"),
    pairTerm("outputs", "a", "b"),
    pairTerm("inputs", "ab", ""),
    pairTerm("inputs", "b", "a"),
    pairTerm("metadata", "a", "b"),
  ];
  expect(new Set(terms).size).toBe(terms.length);
  for (const term of terms) expect(term).toBe(term | 0);
});

test("array literals hold any text", async () => {
  const values = ['a"b', "c\\d", "", "NULL", "null", "{x,y}", "ä\n", null];
  const { rows } = await raw<{
    values: (string | null)[];
  }>`select ${textArrayLiteral(values)}::text[] as values`.execute(test_.database.sql);
  expect(rows[0]?.values).toEqual(values);
});
