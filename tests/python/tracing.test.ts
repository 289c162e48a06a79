import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type PythonAgent, said, startPythonAgent } from "./python-agent.ts";

let app: TestApp;
let database: TestDatabase;
let folder: TempFolder;
let agent: PythonAgent;

beforeAll(async () => {
  folder = await createTempFolder("traced");
  [app, database] = await Promise.all([createTestApp(), createTestDatabase()]);
  agent = await startPythonAgent(database, {
    LANGSMITH_TRACING: "true",
    LANGSMITH_ENDPOINT: `${await app.listen()}/api/v1`,
    LANGSMITH_API_KEY: app.apiKey,
    LANGSMITH_PROJECT: "from-python",
  });
});
afterAll(async () => {
  await agent?.process.stop();
  await app?.stop();
  await database?.drop();
  await folder?.remove();
});

type Span = {
  id: string;
  name: string;
  run_type: string;
  parent_run_id: string | null;
  start_time: string;
  end_time: string | null;
  status: string;
  error: string | null;
  inputs: object;
  outputs: object;
  total_tokens: number;
  thread_id: string;
  tags: string[];
  extra: { metadata: Record<string, unknown> };
};
const select = [
  ...["id", "name", "run_type", "parent_run_id", "end_time", "status", "error", "inputs", "outputs"],
  ...["total_tokens", "thread_id", "tags", "extra"],
];

/** The spans of a run's trace in the order they began, once all of them have ended. */
async function traceOf(runId: string, atLeast = 2): Promise<Span[]> {
  return waitUntil(
    async () => {
      const asked = { body: { trace: runId, select } };
      const { body } = await app.call<{ runs: Span[] }>("POST", "/api/v1/runs/query", asked);
      const { runs } = body;
      const isWhole = runs.length >= atLeast && runs.every(({ end_time: end }) => end !== null);
      return isWhole && runs.sort((a, b) => (a.start_time < b.start_time ? -1 : 1));
    },
    { what: `the trace of ${runId}`, timeoutMs: 30_000, intervalMs: 100 },
  );
}

async function runOf(graphId: string, input: object, more: object = {}) {
  const { thread_id: threadId } = await agent.client.threads.create();
  const { run_id: runId } = await agent.client.runs.create(threadId, graphId, {
    input: input as Record<string, unknown>,
    ...more,
  });
  return { threadId, runId, join: () => agent.client.runs.join(threadId, runId) };
}

/** Each span as the path of names from the root to it, without those the library hides. */
function pathsOf(trace: Span[]): string[] {
  const byId = new Map(trace.map((span) => [span.id, span]));
  const path = (span: Span): string => {
    const parent = span.parent_run_id === null ? undefined : byId.get(span.parent_run_id);
    return parent ? `${path(parent)} > ${span.name}` : span.parent_run_id === null ? "root" : "lost";
  };
  return trace.filter(({ tags }) => !tags.includes("langsmith:hidden")).map(path);
}

/** The events of a stream that has ended. */
function eventsOf(text: string): { event: string; data: unknown }[] {
  const blocks = text.split("\n\n").filter((block) => block.includes("data: "));
  return blocks.map((block) => ({
    event: /^event: (.*)$/m.exec(block)![1]!,
    data: JSON.parse(/^data: (.*)$/m.exec(block)![1]!),
  }));
}

describe("the trace of a Python run", () => {
  it("is a tree below the run, as that of a TypeScript run", async () => {
    const traces = await Promise.all(
      ["echo", "twin"].map(async (graphId) => {
        const run = await runOf(graphId, said("hi"), { metadata: { topic: "tea" } });
        return { run, graphId, trace: await traceOf(run.runId) };
      }),
    );
    for (const { run, graphId, trace } of traces) {
      const root = trace.find(({ parent_run_id: parent }) => parent === null)!;
      expect(root).toMatchObject({ id: run.runId, thread_id: run.threadId, status: "success" });
      const { assistant_id } = await agent.client.runs.get(run.threadId, run.runId);
      for (const { extra } of trace) {
        const ids = { assistant_id, run_id: run.runId, thread_id: run.threadId, graph_id: graphId };
        expect(extra.metadata).toMatchObject({ ...ids, topic: "tea" });
      }
      expect(JSON.stringify(root.inputs)).toContain("hi");
      expect(JSON.stringify(root.outputs)).toContain("You said: hi");
    }
    expect(pathsOf(traces[0]!.trace)).toEqual(["root", "root > echo"]);
    expect(pathsOf(traces[1]!.trace)).toEqual(["root", "root > echo"]);
  });

  it("has its models, tools and the graphs they call, and counts what they used", async () => {
    const { runId } = await runOf("research", said("tea"));
    const trace = await traceOf(runId, 10);
    const paths = pathsOf(trace);
    const called = "root > tools > task > LangGraph > look_up";
    expect(paths).toEqual(
      expect.arrayContaining(["root > think > Scripted", called, `${called} > Scripted`]),
    );
    expect(paths).not.toContain("lost");
    expect(trace.filter(({ run_type: type }) => type === "llm")).toHaveLength(3);
    expect(trace.filter(({ run_type: type }) => type === "tool")).toHaveLength(1);
    expect(trace[0]).toMatchObject({ id: runId, total_tokens: 15 });
  });

  it("ends with the run's failure, and with its being stopped", async () => {
    const failed = await runOf("trouble", { kind: "raise" });
    const [root] = await traceOf(failed.runId);
    expect(root).toMatchObject({ status: "error", error: expect.stringContaining("the node's own words") });

    const stopped = await runOf("steps", { folder: folder.path, wait: "second" });
    await waitUntil(
      async () => (await readFile(join(folder.path, "began"), "utf8").catch(() => "")).includes("second"),
      { what: "its second step", timeoutMs: 20_000, intervalMs: 50 },
    );
    await agent.client.runs.cancel(stopped.threadId, stopped.runId, true);
    const trace = await traceOf(stopped.runId, 3);
    expect(trace.map(({ name, status }) => `${name}: ${status}`)).toEqual([
      "steps: error",
      "first: success",
      "second: error",
    ]);
  });

  it("goes to the project that the run names, and takes feedback by the links of its stream", async () => {
    const exampleId = randomUUID();
    const answer = await fetch(`${agent.ready.url}/runs/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        assistant_id: "echo",
        input: said("hi"),
        feedback_keys: ["helpful"],
        langsmith_tracer: { project_name: "python-trials", example_id: exampleId },
      }),
    });
    const parts = eventsOf(await answer.text());
    const { run_id: runId } = parts[0]!.data as { run_id: string };
    // The trace is there before its links are.
    const asked = { body: { id: [runId], select: ["reference_example_id", "session_id"] } };
    const { body } = await app.call<{ runs: { reference_example_id: string }[] }>(
      "POST",
      "/api/v1/runs/query",
      asked,
    );
    expect(body.runs).toMatchObject([{ reference_example_id: exampleId }]);
    const { body: projects } = await app.call<unknown[]>("GET", "/api/v1/sessions?name=python-trials");
    expect(projects).toHaveLength(1);
    expect(parts.at(-1)).toMatchObject({ event: "feedback", data: { helpful: expect.any(String) } });
    const links = parts.at(-1)!.data as Record<string, string>;
    const given = await fetch(links.helpful!, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"score":1}',
    });
    expect(given.status).toBe(200);
  });

  it("is not lost when the server stops right after the run", async () => {
    const run = await runOf("echo", said("last"));
    await run.join();
    expect(await agent.process.stop()).toMatchObject({ code: 0 });
    const { body } = await app.call<{ runs: Span[] }>("POST", "/api/v1/runs/query", {
      body: { trace: run.runId, select },
    });
    expect(body.runs.map(({ status }) => status)).toEqual(["success", "success"]);
  });
});
