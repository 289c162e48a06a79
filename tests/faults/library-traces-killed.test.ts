import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAgent } from "../support/agent-command.ts";
import { createTestApp, type TestApp } from "../support/app.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

/** Three steps; the second waits for a file, so that the process can be killed in it. */
const graph = `import { existsSync } from "node:fs";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
const State = Annotation.Root({ gate: Annotation(), seen: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }) });
const wait = async ({ gate }) => {
  while (!existsSync(gate)) await new Promise((resolve) => setTimeout(resolve, 50));
  return { seen: ["two"] };
};
export const graph = new StateGraph(State)
  .addNode("one", async () => ({ seen: ["one"] }))
  .addNode("two", wait)
  .addNode("three", async () => ({ seen: ["three"] }))
  .addEdge(START, "one")
  .addEdge("one", "two")
  .addEdge("two", "three")
  .addEdge("three", END)
  .compile();
`;

let app: TestApp;
let url: string;
let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  app = await createTestApp();
  url = await app.listen();
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "treadle-traced-"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "traced", type: "module" }));
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs: { steps: "./graph.js:graph" } }));
  await writeFile(join(folder, "graph.js"), graph);
  await symlink(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await database?.drop();
  await app?.stop();
});

type Span = {
  id: string;
  name: string;
  parent_run_id: string | null;
  status: string;
  error: string | null;
  tags: string[];
  start_time: string;
  end_time: string | null;
};

test("a run whose server was killed is one trace, with its attempts, also where the graph library traces", async () => {
  const env = {
    DATABASE_URL: database.url,
    TREADLE_RUN_LEASE_SECONDS: "2",
    LANGSMITH_TRACING: "true",
    LANGSMITH_ENDPOINT: `${url}/api/v1`,
    LANGSMITH_API_KEY: app.apiKey,
    LANGSMITH_PROJECT: "killed",
  };
  const start = () => startAgent(join(folder, "langgraph.json"), env);
  const spansOf = async (id: string) => {
    const { status, body } = await app.call<{ runs: Span[] }>("GET", `/api/v1/traces/${id}`);
    return status === 200 ? body.runs : [];
  };
  const gate = join(folder, "open");
  const first = await start();
  const client = new Client({ apiUrl: first.ready.url });
  const thread = await client.threads.create();
  const run = await client.runs.create(thread.thread_id, "steps", { input: { gate } });
  await waitUntil(async () => (await spansOf(run.run_id)).some(({ name }) => name === "two") || undefined, {
    what: "the second step in the traces",
    timeoutMs: 30_000,
  });
  await first.process.kill();

  const second = await start();
  await writeFile(gate, "");
  await new Client({ apiUrl: second.ready.url }).runs.join(thread.thread_id, run.run_id);
  const spans = await waitUntil(
    async () => {
      const found = await spansOf(run.run_id);
      const ended = (name: string) => found.some((span) => span.name === name && span.end_time);
      return ended("three") &&
        ended("attempt 2") &&
        found.some(({ id, end_time }) => id === run.run_id && end_time)
        ? found
        : undefined;
    },
    { what: "the end of the trace", timeoutMs: 30_000 },
  );
  const named = (name: string) => spans.filter((span) => span.name === name);
  const roots = spans.filter(({ parent_run_id }) => parent_run_id === null);
  expect(roots).toMatchObject([{ id: run.run_id, status: "success" }]);
  expect(named("attempt 1")).toMatchObject([
    {
      parent_run_id: run.run_id,
      status: "error",
      error: expect.stringContaining("continued"),
      tags: ["treadle:attempt"],
    },
  ]);
  expect(named("attempt 2")).toMatchObject([
    { parent_run_id: run.run_id, status: "success", tags: ["treadle:attempt"] },
  ]);
  expect([named("one").length, named("two").length, named("three").length]).toEqual([1, 2, 1]);
  const at = (span: Span | undefined) => Date.parse(span!.start_time);
  const [again] = named("attempt 2");
  expect(at(roots[0])).toBeLessThanOrEqual(at(named("one")[0]));
  expect(at(named("one")[0])).toBeLessThan(at(again));
  expect(at(named("three")[0])).toBeGreaterThanOrEqual(at(again));
  await second.process.stop();
}, 150_000);
