import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { Client, RunTree } from "langsmith";
import { evaluate } from "langsmith/evaluation";
import { traceable } from "langsmith/traceable";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createTracesApp, type TracesApp } from "../support/traces-app.ts";

/** The unmodified JavaScript client against a live server. */
let subject: TracesApp;
let apiUrl: string;
let client: Client;
let project: string;
beforeAll(async () => {
  subject = await createTracesApp();
  apiUrl = `${(await subject.listen()).url}/api/v1`;
});
afterAll(() => subject.stop());
beforeEach(() => {
  project = `project-${randomUUID()}`;
  client = newClient();
});

function newClient(options: ConstructorParameters<typeof Client>[0] = {}): Client {
  return new Client({ apiUrl, apiKey: subject.app.apiKey, callerOptions: { maxRetries: 0 }, ...options });
}

type RunQuery = NonNullable<Parameters<Client["runs"]["query"]>[0]>;

async function runsOf(projectName: string, query: RunQuery = {}) {
  const { id } = await client.readProject({ projectName });
  const found = [];
  for await (const run of client.runs.query({ project_ids: [id], selects, ...query })) found.push(run);
  return found;
}

async function retrieve(runId: string) {
  const { id } = await client.readProject({ projectName: project });
  return client.runs.retrieve(runId, { project_id: id, selects });
}

const selects: RunQuery["selects"] = [
  "NAME",
  "STATUS",
  "TAGS",
  "INPUTS",
  "OUTPUTS",
  "ERROR",
  "TRACE_ID",
  "IS_ROOT",
  "PARENT_RUN_IDS",
  "PROMPT_TOKENS",
  "COMPLETION_TOKENS",
  "TOTAL_TOKENS",
  "TOTAL_COST",
  "FIRST_TOKEN_TIME",
  "REFERENCE_EXAMPLE_ID",
  "FEEDBACK_STATS",
];

describe("traceable", () => {
  test("traces nested calls, errors, tags and metadata into the project", async () => {
    const config = { client, project_name: project, tracingEnabled: true };
    const fails = traceable(
      async () => {
        throw new Error("no such tool");
      },
      { ...config, name: "fails", run_type: "tool" },
    );
    const model = traceable(
      async (_question: string) => ({
        content: "Paris",
        usage_metadata: { input_tokens: 12, output_tokens: 3, total_tokens: 15 },
      }),
      {
        ...config,
        name: "model",
        run_type: "llm",
        metadata: { ls_provider: "openai", ls_model_name: "gpt-4o" },
      },
    );
    const chain = traceable(
      async (question: string) => {
        await fails().catch(() => undefined);
        return model(question);
      },
      { ...config, name: "chain", tags: ["journey"], metadata: { session_id: "conversation-1" } },
    );
    await chain("Capital of France?");
    await client.awaitPendingTraceBatches();

    const runs = await runsOf(project);
    const byName = new Map(runs.map((run) => [run.name, run]));
    expect([...byName.keys()].sort()).toEqual(["chain", "fails", "model"]);
    const root = byName.get("chain")!;
    expect(root).toMatchObject({
      status: "SUCCESS",
      tags: ["journey"],
      inputs: { input: "Capital of France?" },
      total_tokens: 15,
      is_root: true,
    });
    expect(byName.get("fails")).toMatchObject({
      status: "ERROR",
      parent_run_ids: [root.id],
      trace_id: root.id,
    });
    expect(byName.get("fails")!.error).toContain("no such tool");
    expect(byName.get("model")).toMatchObject({
      prompt_tokens: 12,
      completion_tokens: 3,
      parent_run_ids: [root.id],
    });
    expect(byName.get("model")!.total_cost).toBeCloseTo((12 * 2.5 + 3 * 10) / 1e6, 12);
  });

  test("streams are traced with the time of their first token", async () => {
    const stream = traceable(
      async function* () {
        yield "a";
        yield "b";
      },
      { client, project_name: project, tracingEnabled: true, name: "stream", run_type: "llm" },
    );
    for await (const _ of stream());
    await client.awaitPendingTraceBatches();
    const [run] = await runsOf(project);
    expect(run).toMatchObject({ status: "SUCCESS", outputs: { outputs: ["a", "b"] } });
    expect(run!.first_token_time).toMatch(/^20/);
  });

  test.each([{ blockOnRootRunFinalization: true }, { autoBatchTracing: false }])(
    "works with %o",
    async (options) => {
      const own = newClient(options);
      const add = traceable(async (a: number) => a + 1, {
        client: own,
        project_name: project,
        tracingEnabled: true,
        name: "add",
      });
      await add(1);
      await own.awaitPendingTraceBatches();
      // Without batches the client has nothing to wait for.
      await vi.waitFor(async () =>
        expect(await runsOf(project)).toMatchObject([
          { name: "add", status: "SUCCESS", outputs: { outputs: 2 } },
        ]),
      );
    },
  );
});

describe("RunTree and Client", () => {
  test("a run posted first and patched later is one run", async () => {
    const tree = new RunTree({
      name: "tree",
      run_type: "chain",
      inputs: { a: 1 },
      client,
      project_name: project,
      tracingEnabled: true,
    });
    await tree.postRun();
    await client.awaitPendingTraceBatches();
    expect(await runsOf(project)).toMatchObject([{ status: "PENDING" }]);
    const child = tree.createChild({ name: "step", run_type: "tool", inputs: {} });
    await child.postRun();
    await child.end({ b: 2 });
    await child.patchRun();
    await tree.end({ c: 3 });
    await tree.patchRun();
    await client.awaitPendingTraceBatches();
    const runs = await runsOf(project);
    expect(runs.map((run) => [run.name, run.status, run.outputs]).sort()).toEqual([
      ["step", "SUCCESS", { b: 2 }],
      ["tree", "SUCCESS", { c: 3 }],
    ]);
    expect(await retrieve(tree.id)).toMatchObject({ inputs: { a: 1 }, outputs: { c: 3 } });
  });

  test("attachments travel with the run", async () => {
    const tree = new RunTree({
      name: "with-file",
      run_type: "tool",
      inputs: {},
      client,
      project_name: project,
      tracingEnabled: true,
      attachments: { note: ["text/plain", new TextEncoder().encode("hello")] },
    });
    await tree.end({});
    await tree.postRun();
    await client.awaitPendingTraceBatches();
    const listed = await subject.app.call("GET", `/api/v1/runs/${tree.id}/attachments`);
    expect(listed.body).toEqual([{ name: "note", mime_type: "text/plain", size: 5 }]);
  });

  test("projects: create, read, list, update, delete with everything in them", async () => {
    const made = await client.createProject({
      projectName: project,
      description: "d",
      metadata: { team: "x" },
    });
    expect(await client.readProject({ projectName: project })).toMatchObject({
      id: made.id,
      description: "d",
    });
    expect(await client.createProject({ projectName: project, upsert: true })).toMatchObject({ id: made.id });
    await expect(client.createProject({ projectName: project })).rejects.toThrow();
    const tree = new RunTree({
      name: "r",
      run_type: "chain",
      inputs: {},
      client,
      project_name: project,
      tracingEnabled: true,
    });
    await tree.end({});
    await tree.postRun();
    await client.awaitPendingTraceBatches();
    expect(await client.hasProject({ projectName: project })).toBe(true);
    expect(await client.updateProject(made.id, { name: `${project}-2` })).toMatchObject({
      name: `${project}-2`,
    });
    const listed = [];
    for await (const each of client.listProjects({ nameContains: `${project}-2` })) listed.push(each.id);
    expect(listed).toEqual([made.id]);
    await client.deleteProject({ projectName: `${project}-2` });
    expect(await client.hasProject({ projectName: `${project}-2` })).toBe(false);
    expect(await subject.run(tree.id)).toBeUndefined();
  });

  test("feedback: create, list, update, delete", async () => {
    const tree = new RunTree({
      name: "rated",
      run_type: "chain",
      inputs: {},
      client,
      project_name: project,
      tracingEnabled: true,
    });
    await tree.end({});
    await tree.postRun();
    await client.awaitPendingTraceBatches();
    const made = await client.createFeedback({
      runId: tree.id,
      sessionId: (await client.readProject({ projectName: project })).id,
      key: "correct",
      score: 1,
      comment: "yes",
      value: "good",
    });
    await client.updateFeedback(made.id, { score: 0.5 });
    expect(await client.readFeedback(made.id)).toMatchObject({
      key: "correct",
      score: 0.5,
      value: "good",
      run_id: tree.id,
    });
    const listed = [];
    for await (const each of client.listFeedback({ runIds: [tree.id] })) listed.push(each.id);
    expect(listed).toEqual([made.id]);
    expect(await retrieve(tree.id)).toMatchObject({
      feedback_stats: { correct: { n: 1, avg: 0.5, values: { good: 1 } } },
    });
    await client.deleteFeedback(made.id);
    await expect(client.readFeedback(made.id)).rejects.toThrow();
  });
});

describe("evaluate", () => {
  test("makes an experiment of a dataset, with its runs and their feedback", async () => {
    const dataset = await client.createDataset(`dataset-${randomUUID()}`, { description: "sums" });
    const examples = await client.createExamples({
      datasetId: dataset.id,
      inputs: [{ a: 1 }, { a: 2 }],
      outputs: [{ sum: 2 }, { sum: 3 }],
    });
    expect(examples.map((each) => each.inputs)).toEqual([{ a: 1 }, { a: 2 }]);
    const results = await evaluate(async ({ a }: { a: number }) => ({ sum: a + 1 }), {
      data: dataset.name,
      client,
      experimentPrefix: "plus-one",
      maxConcurrency: 2,
      evaluators: [
        ({
          outputs,
          referenceOutputs,
        }: {
          outputs: Record<string, unknown>;
          referenceOutputs?: Record<string, unknown>;
        }) => ({
          key: "correct",
          score: outputs.sum === referenceOutputs?.sum,
        }),
      ],
    });
    await client.awaitPendingTraceBatches();
    expect(results.results).toHaveLength(2);
    const experiment = await client.readProject({ projectName: results.experimentName, includeStats: true });
    expect(experiment).toMatchObject({
      reference_dataset_id: dataset.id,
      run_count: 2,
      feedback_stats: { correct: { n: 2, avg: 1 } },
    });
    const roots = await runsOf(results.experimentName, { is_root: true });
    expect(roots.map((run) => run.reference_example_id).sort()).toEqual(
      examples.map((each) => each.id).sort(),
    );
    expect(await client.readDataset({ datasetId: dataset.id })).toMatchObject({
      example_count: 2,
      session_count: 1,
    });
  });
});

describe("a graph with the library's own tracer", () => {
  test("its nodes and model calls are one trace", async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", async () => ({
        messages: [
          new AIMessage({
            content: "hi",
            usage_metadata: { input_tokens: 2, output_tokens: 1, total_tokens: 3 },
          }),
        ],
      }))
      .addEdge(START, "agent")
      .addEdge("agent", END)
      .compile();
    const tracer = new LangChainTracer({ client, projectName: project });
    await graph.invoke(
      { messages: [new HumanMessage("hello")] },
      { callbacks: [tracer], tags: ["graph"], metadata: { thread_id: "t-9" } },
    );
    await client.awaitPendingTraceBatches();
    const runs = await runsOf(project);
    const root = runs.find((run) => run.is_root);
    expect(root).toMatchObject({ name: "LangGraph", status: "SUCCESS", tags: ["graph"] });
    const node = runs.find((run) => run.name === "agent");
    expect(node).toMatchObject({ parent_run_ids: [root?.id], trace_id: root?.id, status: "SUCCESS" });
    expect(JSON.stringify(node?.outputs)).toContain("hi");
    const inThread = await runsOf(project, { filter: 'eq(thread_id, "t-9")', is_root: true });
    expect(inThread.map((run) => run.id)).toEqual([root?.id]);
  });
});
