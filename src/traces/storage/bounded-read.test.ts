import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { createBoundedRead } from "./bounded-read.ts";

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

test("a query that takes too long is ended, and the answer says what to do", async () => {
  const read = createBoundedRead(testDatabase.database, 50);
  await expect(read((sql) => raw`select pg_sleep(60)`.execute(sql))).rejects.toMatchObject({
    code: "traces.query_timeout",
    kind: "unprocessable",
    retryable: false,
    message: expect.stringContaining("Narrow it"),
  });
});

test("other statements of the same connections are not", async () => {
  const read = createBoundedRead(testDatabase.database, 50);
  await read((sql) => raw`select 1`.execute(sql));
  const { rows } = await raw<{ timeout: string }>`
    select current_setting('statement_timeout') as timeout`.execute(testDatabase.database.sql);
  expect(rows).toEqual([{ timeout: "0" }]);
});
