import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import type { Database } from "../../platform/db/database.ts";
import { TableGrowth } from "../../platform/db/table-growth.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import { ThreadService } from "./thread-service.ts";

let database: TestDatabase;
const workspaceId = newId();
const logger = createLogger({ level: "silent" });

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 3 });
});
afterAll(() => database.drop());

/** The first statement commits, and its answer is lost. */
function loseFirstAnswer(whole: Database): Pick<Database, "query"> {
  let isLost = false;
  return {
    async query(statement, values) {
      const rows = await whole.query(statement, values);
      if (isLost) return rows as never;
      isLost = true;
      throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    },
  };
}

test("a thread without an id is created once, though the connection is lost after the commit", async () => {
  const threads = new ThreadService({
    database: loseFirstAnswer(database.database) as Database,
    growth: new TableGrowth({ sql: database.database.sql, logger, tables: [] }),
    ...{ defaultTtl: null, stopRuns: async () => {} },
  });
  const made = await threads.create(workspaceId, { metadata: { a: 1 }, ttl: null, ifExists: "raise" });
  expect(made).toMatchObject({ created: true, row: { metadata: { a: 1 } } });
  const again = { threadId: made.row.thread_id, metadata: {}, ttl: null, ifExists: "raise" } as const;
  await expect(threads.create(workspaceId, again)).rejects.toMatchObject({ code: "thread.exists" });
});
