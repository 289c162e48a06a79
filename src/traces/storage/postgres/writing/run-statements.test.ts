import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../../tests/support/database.ts";
import { planOf } from "../../../../../tests/support/statement-plans.ts";
import { findRuns } from "./run-statements.ts";
import { findOvertaken } from "./spender-statements.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 1 });
});
afterAll(() => test.drop());

/** They may be planned when a server is new, and keep that plan while its tables grow. */
describe("statements of every flush, planned for empty tables", () => {
  it.each([findRuns, findOvertaken])("$name reads no whole table", async (statement) => {
    const plan = JSON.stringify(await planOf(test.database.sql, statement));
    expect(plan).toContain("Index");
    expect(plan).not.toMatch(/"Seq Scan"/);
  });
});
