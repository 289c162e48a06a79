import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { DefaultAssistants } from "./default-assistants.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

/** What a process that starts with this config leaves in the database. */
async function start(workspaceId: string, tone: string): Promise<unknown[]> {
  const configs = { echo: { config: { configurable: { tone } }, context: {} } };
  await new DefaultAssistants(database.database, ["echo"], configs).ensure(workspaceId);
  const { rows } = await raw<{ tone: string; version_tone: string }>`
    select a.config #>> '{configurable,tone}' as tone, v.config #>> '{configurable,tone}' as version_tone
    from assistants a join assistant_versions v using (workspace_id, assistant_id)
    where a.workspace_id = ${workspaceId} and v.version = a.version`.execute(database.database.sql);
  return rows;
}

test("a default assistant follows the config of every start", async () => {
  const workspaceId = randomUUID();
  expect(await start(workspaceId, "loud")).toEqual([{ tone: "loud", version_tone: "loud" }]);
  expect(await start(workspaceId, "low")).toEqual([{ tone: "low", version_tone: "low" }]);
});

test("but not one that somebody has changed", async () => {
  const workspaceId = randomUUID();
  await start(workspaceId, "loud");
  await raw`update assistants set version = 2 where workspace_id = ${workspaceId}`.execute(
    database.database.sql,
  );
  await raw`update assistant_versions set version = 2 where workspace_id = ${workspaceId}`.execute(
    database.database.sql,
  );
  expect(await start(workspaceId, "low")).toEqual([{ tone: "loud", version_tone: "loud" }]);
});
