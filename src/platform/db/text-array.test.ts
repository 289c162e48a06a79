import { afterAll, expect, it } from "vitest";
import { createTestDatabase } from "../../../tests/support/database.ts";
import { textArray } from "./text-array.ts";

const database = await createTestDatabase();
afterAll(() => database.drop());

it.each<[string, (string | null)[]]>([
  ["nothing", []],
  ["quotes, commas, braces and backslashes", ['{"a":"b,c"}', "\\", '"', "{}", ""]],
  ["what a quoted array would mistake for null", ["NULL", null, "null"]],
  ["letters of several bytes", ["ä", "日本", "🧵", `${"ü".repeat(5_000)}"`]],
  ["nulls only", [null, null]],
])("carries %s to PostgreSQL and back", async (_, values) => {
  const statement = { name: "echo_texts", text: "select value from unnest($1::text[]) as value" };
  const rows = await database.database.query<{ value: string | null }>(statement, [textArray(values)]);
  expect(rows.map((row) => row.value)).toEqual(values);
});

it("carries texts that are bytes already", async () => {
  const statement = { name: "echo_texts", text: "select value from unnest($1::text[]) as value" };
  const values = [Buffer.from("ä🧵"), "text", null, Buffer.alloc(0)];
  const rows = await database.database.query<{ value: string | null }>(statement, [textArray(values)]);
  expect(rows.map((row) => row.value)).toEqual(["ä🧵", "text", null, ""]);
});

it("refuses what PostgreSQL cannot hold as a text", async () => {
  const statement = { name: "echo_nul", text: "select unnest($1::text[])" };
  await expect(database.database.query(statement, [textArray(["\0"])])).rejects.toThrow();
});
