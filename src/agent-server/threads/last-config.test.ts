import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { newId } from "../../platform/ids.ts";
import { buildKwargs, type RunRequest } from "../runs/run-request.ts";
import { insertNewRuns, type Target } from "../runs/run-store.ts";
import { leadingConfig } from "./leading-config.ts";
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
    "an input with a NUL": { text: "a\u0000b" },
    "half a surrogate pair": { text: "\ud83d" },
    "a backslash before a u": { path: "C:\\users" },
    "escapes of other characters": { text: '\u001b[0m "quoted" \n\t' },
    "an input with a config of its own": { config: { configurable: { model_name: "another" } } },
    "no input": null,
  };
  for (const [name, input] of Object.entries(inputs)) {
    it(`beside ${name}`, async () => {
      const threadId = await ranWith({ config, input });
      expect(await findLastConfig(test.database.sql, threadId, "made")).toEqual(config);
    });

    it(`after ${name}, as runs of earlier versions have it`, async () => {
      const threadId = await ranWith({ input, config });
      expect(await findLastConfig(test.database.sql, threadId, "made")).toEqual(config);
    });
  }

  it("longer than what is read first", async () => {
    const long = { configurable: { instructions: 'a { and a } and a " '.repeat(5_000) } };
    const threadId = await ranWith({ config: long, input: {} });
    expect(await findLastConfig(test.database.sql, threadId, "made")).toEqual(long);
  });

  it("after an input that is longer than what is read first", async () => {
    const threadId = await ranWith({ input: { large: "x".repeat(50_000) }, config });
    expect(await findLastConfig(test.database.sql, threadId, "made")).toEqual(config);
  });

  it("is the first thing a run writes, and the beginning of its text is enough", async () => {
    const ids = { run_id: "r", thread_id: "t", graph_id: "g", assistant_id: "a" };
    const target = { assistant_config: {}, thread_config: {}, assistant_context: {} } as unknown as Target;
    const request = { input: { large: "x".repeat(100) }, config: { recursion_limit: 7 } } as RunRequest;
    const text = JSON.stringify(buildKwargs(target, request, ids));
    expect(leadingConfig(text.slice(0, -50))).toEqual({ configurable: ids, recursion_limit: 7 });
  });

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
