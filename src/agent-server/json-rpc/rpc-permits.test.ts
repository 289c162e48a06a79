import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { createLogger } from "../../platform/logger.ts";
import { listAssistantNames } from "../assistants/assistant-store.ts";
import { AgentGuard } from "../auth/agent-guard.ts";
import { RpcPermits } from "./rpc-permits.ts";

const workspaceId = randomUUID();
const [hers, his, herThread, hisThread] = Array.from({ length: 4 }, () => randomUUID()) as [
  string,
  string,
  string,
  string,
];

let shared: TestDatabase;
beforeAll(async () => {
  shared = await createTestDatabase();
  const { sql } = shared.database;
  for (const [owner, assistantId, threadId] of [
    ["ada", hers, herThread],
    ["bob", his, hisThread],
  ] as const) {
    const metadata = JSON.stringify({ owner });
    await raw`insert into assistants (workspace_id, assistant_id, graph_id, name, metadata)
      values (${workspaceId}, ${assistantId}, 'echo', ${owner}, ${metadata}::jsonb)`.execute(sql);
    await raw`insert into threads (thread_id, workspace_id, metadata)
      values (${threadId}, ${workspaceId}, ${metadata}::jsonb)`.execute(sql);
  }
});
afterAll(() => shared?.drop());

const ada: Caller = {
  organizationId: workspaceId,
  workspaceId,
  userId: "ada",
  role: "admin",
  via: "api_key",
  scopes: null,
  mayUseAccounts: false,
  principal: { identity: "ada", permissions: [], fields: { identity: "ada" } },
};

function permitsOf(callbacks: ConstructorParameters<typeof AgentGuard>[0]["callbacks"] | undefined) {
  const guard = callbacks && new AgentGuard({ callbacks }, createLogger({ level: "silent" }));
  return new RpcPermits({ guard, database: shared.database });
}

const namesFor = async (permits: RpcPermits) => {
  const condition = await permits.assistantCondition(ada);
  const found = await listAssistantNames(shared.database.sql, workspaceId, condition);
  return found.map((each) => each.name).sort();
};

describe("with a filter on the owner", () => {
  const owned = () => permitsOf({ "*": async () => ({ owner: "ada" }) });

  test("lists show the caller's assistants alone", async () => {
    expect(await namesFor(owned())).toEqual(["ada"]);
  });

  test("and the caller's threads alone", async () => {
    const condition = await owned().threadCondition(ada);
    const { rows } = await raw<{ thread_id: string }>`select thread_id from threads
      where workspace_id = ${workspaceId} and ${condition!}`.execute(shared.database.sql);
    expect(rows.map((row) => row.thread_id)).toEqual([herThread]);
  });

  test("another's assistant and thread do not exist", async () => {
    await owned().readAssistant(ada, hers);
    await owned().onThread(ada, "read", herThread);
    await expect(owned().readAssistant(ada, his)).rejects.toMatchObject({ kind: "not_found" });
    await expect(owned().onThread(ada, "update", hisThread)).rejects.toMatchObject({ kind: "not_found" });
  });
});

test("a handler that says no is asked with what the request touches, and refuses", async () => {
  const asked: unknown[] = [];
  const permits = permitsOf({
    "threads:update": async (context: unknown) => {
      asked.push((context as { value: unknown }).value);
      return false;
    },
  });
  await permits.onThread(ada, "read", herThread);
  await expect(permits.onThread(ada, "update", herThread)).rejects.toMatchObject({ kind: "forbidden" });
  expect(asked).toEqual([{ thread_id: herThread }]);
});

test("without authorization nothing is restricted", async () => {
  expect(await namesFor(permitsOf(undefined))).toEqual(["ada", "bob"]);
  await permitsOf(undefined).onThread(ada, "read", hisThread);
});
