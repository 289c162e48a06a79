import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startReloadingAgent } from "../support/reloading-agent.ts";
import { runTreadle } from "../support/treadle.ts";
import { clientOf, said } from "./python-agent.ts";

let database: TestDatabase;
let parent: string;
let folder: string;
let agent: Awaited<ReturnType<typeof startReloadingAgent>>;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  parent = await mkdtemp(join(tmpdir(), "treadle-reload-"));
  folder = join(parent, "bot");
  expect(await runTreadle(["new", folder, "--template", "python"])).toMatchObject({ code: 0 });
  agent = await startReloadingAgent(folder, {
    DATABASE_URL: database.url,
    TREADLE_PYTHON: process.env.TREADLE_TEST_PYTHON!,
  });
  client = clientOf(agent.ready.url);
}, 90_000);

afterAll(async () => {
  await agent.process.kill();
  await database.drop();
  await rm(parent, { recursive: true, force: true });
});

async function ask(threadId: string, text: string): Promise<string[]> {
  const { messages } = (await client.runs.wait(threadId, "agent", { input: said(text) })) as {
    messages: { content: string }[];
  };
  return messages.map(({ content }) => content);
}

test("a new project in Python, changed while it is served: a syntax error keeps it serving", async () => {
  const { thread_id: threadId } = await client.threads.create();
  expect((await ask(threadId, "How is the weather in Graz?")).at(-1)).toContain("sunny in Graz");

  const changed = await agent.change("agent/tools.py", (text) => text.replace("sunny", "windy"));
  expect(changed).toMatchObject({ reloaded: true, changed: [join(folder, "agent/tools.py")] });
  const after = await ask(threadId, "And in Linz?");
  // The thread has both: the first answer of the version before, the second of this one.
  expect(after.filter((text) => /sunny in Graz|windy in Linz/.test(text))).toHaveLength(4);

  const failed = await agent.change("agent/model.py", (text) =>
    text.replace("def scripted(messages:", "def scripted(messages"),
  );
  expect(failed).toMatchObject({ reloaded: false });
  expect(failed.error!.message).toMatch(/SyntaxError: .*\(.*agent\/model\.py, line 20\)/);
  expect((await ask(threadId, "And in Wels?")).at(-1)).toContain("windy in Wels");

  const mended = await agent.change("agent/model.py", (text) =>
    text.replace("def scripted(messages", "def scripted(messages:"),
  );
  expect(mended).toMatchObject({ reloaded: true });
  expect((await ask(threadId, "And in Enns?")).at(-1)).toContain("windy in Enns");
}, 180_000);
