import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const graphs = `import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
const State = Annotation.Root({ done: Annotation(), pause: Annotation() });
const graph = (node) => new StateGraph(State).addNode("work", node).addEdge(START, "work").addEdge("work", END).compile();
export const patient = graph(async ({ pause }) => {
  await new Promise((resolve) => setTimeout(resolve, pause));
  return { done: "in peace" };
});
export const stuck = graph(async () => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  for (;;);
});
`;

let test: TestDatabase;
let folder: TempFolder;
let agent: RunningAgent | undefined;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  folder = await createTempFolder("blocked-process");
  const file = (name: string, content: string) => writeFile(join(folder.path, name), content);
  await file("package.json", JSON.stringify({ name: "blocked", private: true, type: "module" }));
  await file("graphs.js", graphs);
  const served = { patient: "./graphs.js:patient", stuck: "./graphs.js:stuck" };
  await file("langgraph.json", JSON.stringify({ graphs: served }));
  await symlink(
    fileURLToPath(new URL("../../node_modules", import.meta.url)),
    join(folder.path, "node_modules"),
  );
});
afterEach(async () => {
  await agent?.process.kill();
});
afterAll(async () => {
  await folder?.remove();
  await test?.drop();
});

const start = () =>
  startAgent(join(folder.path, "langgraph.json"), {
    DATABASE_URL: test.url,
    TREADLE_RUN_LEASE_SECONDS: "3",
    TREADLE_WATCHDOG_SECONDS: "1",
  });

describe("a run that blocks the event loop", () => {
  it("is known when the process ends, and its neighbours keep their attempts and go on", async () => {
    agent = await start();
    const client = new Client({ apiUrl: agent.ready.url });
    const begin = async (graph: string) => {
      const { thread_id } = await client.threads.create();
      const run = await client.runs.create(thread_id, graph, { input: { pause: 4_000 } });
      return { thread_id, run_id: run.run_id };
    };
    const neighbours = await Promise.all([begin("patient"), begin("patient"), begin("patient")]);
    const poison = await begin("stuck");
    expect(await agent.process.waitExit(60_000)).toMatchObject({ code: exitCodes.blocked.code });

    const { rows } = await raw<{ run_id: string }>`select run_id, status, attempt, excused, alone from runs
      order by created_at`.execute(test.database.sql);
    const byId = new Map(rows.map((row) => [row.run_id, row]));
    expect(byId.get(poison.run_id)).toMatchObject({ status: "pending", attempt: 1, excused: 0, alone: true });
    for (const { run_id } of neighbours) {
      expect(byId.get(run_id)).toMatchObject({ status: "pending", attempt: 1, excused: 1, alone: false });
    }

    // The neighbours first; what blocked has the process to itself only after them, however long nobody was there.
    await raw`update runs set updated_at = now() - interval '10 minutes'`.execute(test.database.sql);
    agent = await start();
    const again = new Client({ apiUrl: agent.ready.url });
    for (const { thread_id, run_id } of neighbours) {
      expect(await again.runs.join(thread_id, run_id)).toMatchObject({ done: "in peace" });
    }
    expect(await agent.process.waitExit(60_000)).toMatchObject({ code: exitCodes.blocked.code });
  }, 150_000);
});
