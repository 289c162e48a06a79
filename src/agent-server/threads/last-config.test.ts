import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { newId } from "../../platform/ids.ts";
import { insertNewRuns } from "../runs/run-store.ts";
import { findLastConfig } from "./thread-store.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

async function ranWith(kwargs: Record<string, unknown>, threadId = newId()): Promise<string> {
  const run = {
    runId: newId(),
    threadId,
    workspaceId: newId(),
    assistantId: newId(),
    graphId: "made",
    strategy: "enqueue",
    metadata: {},
    kwargsJson: JSON.stringify(kwargs),
    temporary: false,
    createThread: true,
    claim: false,
    delaySeconds: 0,
    threadMetadata: {},
    threadConfig: {},
    threadTtl: null,
    speaksProtocol: false,
  };
  await insertNewRuns(test.database, [run], newId(), 30);
  return threadId;
}

describe("the config of a graph's last run on a thread", () => {
  const config = { configurable: { model_name: "offline", 'a "quoted"\n name': "ü 🙂" }, recursion_limit: 7 };
  const inputs: Record<string, unknown> = {
    "a plain input": { messages: ["hello"] },
    "an input with a NUL, which PostgreSQL reads no JSON with": { text: "a\u0000b" },
    "half a surrogate pair": { text: "\ud83d" },
    "a backslash before a u": { path: "C:\\users" },
    "escapes of other characters": { text: '\u001b[0m "quoted" \n\t' },
    "an input with a config of its own": { config: { configurable: { model_name: "another" } } },
    "no input": null,
  };
  for (const [name, input] of Object.entries(inputs)) {
    it(`beside ${name}`, async () => {
      const threadId = await ranWith({ input, config });
      expect(await findLastConfig(test.database.sql, threadId, "made")).toEqual(config);
    });
  }

  it("where the config itself has such characters", async () => {
    const odd = { configurable: { text: "\u0000 \ud83d" } };
    const threadId = await ranWith({ config: odd });
    expect(await findLastConfig(test.database.sql, threadId, "made")).toEqual(odd);
  });

  it("is empty where there is none: no config, another graph, no run", async () => {
    const threadId = await ranWith({ input: {} });
    expect(await findLastConfig(test.database.sql, threadId, "made")).toEqual({});
    expect(await findLastConfig(test.database.sql, threadId, "other")).toEqual({});
    expect(await findLastConfig(test.database.sql, newId(), "made")).toEqual({});
  });
});
