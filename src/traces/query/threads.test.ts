import { Client } from "langsmith";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
let client: Client;
let projectId: string;
const start = Date.now() - 600_000;
const at = (second: number) => new Date(start + second * 1_000).toISOString();
/** Three threads of one, two and three turns; the last turn of `two` failed. */
const turns = [
  { thread: "three", second: 0 },
  { thread: "two", second: 10 },
  { thread: "three", second: 20 },
  { thread: "one", second: 30 },
  { thread: "two", second: 40, error: "it broke" },
  { thread: "three", second: 50 },
].map(({ thread, second, error }, index) =>
  samplePost({
    name: `turn-${index}`,
    run_type: "llm",
    session_name: "threads",
    start_time: at(second),
    end_time: at(second + 2),
    inputs: { q: index },
    outputs: error
      ? {}
      : { a: index, usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
    extra: { metadata: { thread_id: thread } },
    ...(error && { error }),
  }),
);

beforeAll(async () => {
  subject = await createTracesApp();
  const { url } = await subject.listen();
  client = new Client({ apiUrl: `${url}/api/v1`, apiKey: subject.app.apiKey });
  await subject.app.call("POST", "/api/v1/runs/batch", { body: { post: turns, patch: [] } });
  await subject.app.call("POST", "/api/v1/feedback", { body: { run_id: turns[0]!.id, key: "ok", score: 1 } });
  projectId = (await client.readProject({ projectName: "threads" })).id;
});
afterAll(() => subject.stop());

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of pages) found.push(each);
  return found;
}

describe("threads", () => {
  test("are found by their last turn, page by page", async () => {
    const found = await all(client.threads.query({ project_id: projectId, page_size: 2 }));
    expect(found).toMatchObject([
      {
        thread_id: "three",
        count: 3,
        num_errored_turns: 0,
        first_trace_id: turns[0]!.id,
        last_trace_id: turns[5]!.id,
        first_inputs: '{"q":0}',
        last_outputs: expect.stringContaining('"a":5'),
        latency_p50: 2,
        total_tokens: 21,
        feedback_stats: { ok: { n: 1, avg: 1, values: {} } },
      },
      {
        thread_id: "two",
        count: 2,
        num_errored_turns: 1,
        last_error: "it broke",
        first_trace_id: turns[1]!.id,
      },
      { thread_id: "one", count: 1, feedback_stats: {} },
    ]);
    const failed = client.threads.query({ project_id: projectId, filter: 'eq(status, "error")' });
    expect((await all(failed)).map((each) => each.thread_id)).toEqual(["two"]);
    const late = client.threads.query({ project_id: projectId, min_start_time: at(45) });
    expect(await all(late)).toMatchObject([{ thread_id: "three", count: 1 }]);
    await expect(
      client.threads.query({ project_id: projectId, thread_filter: "gt(count, 1)" }),
    ).rejects.toThrow(/422/);
  });

  test("tell their traces in order", async () => {
    const selects = ["NAME" as const, "LATENCY" as const, "INPUTS" as const, "THREAD_ID" as const];
    const listed = client.threads.listTraces("three", { project_id: projectId, selects, page_size: 2 });
    expect(await all(listed)).toEqual(
      [0, 2, 5].map((index) => ({
        trace_id: turns[index]!.id,
        name: `turn-${index}`,
        latency: 2,
        inputs: { q: index },
        thread_id: "three",
      })),
    );
    const some = client.threads.listTraces("three", { project_id: projectId, filter: 'eq(name, "turn-2")' });
    expect(await all(some)).toEqual([{ trace_id: turns[2]!.id }]);
    expect(await all(client.threads.listTraces("none", { project_id: projectId }))).toEqual([]);
  });

  test("are summed up in numbers", async () => {
    const stats = await client.threads.stats("three", {
      session_id: projectId,
      selects: [
        "TURNS",
        "TOTAL_TOKENS",
        "LATENCY_P50",
        "FIRST_START_TIME",
        "LAST_END_TIME",
        "FEEDBACK_STATS",
      ],
    });
    expect(stats).toEqual({
      turns: 3,
      total_tokens: 21,
      latency_p50_seconds: 2,
      first_start_time: expect.stringMatching(/Z$/),
      last_end_time: expect.stringMatching(/Z$/),
      feedback_stats: { ok: { n: 1, avg: 1, values: {} } },
    });
  });

  test("are listed as groups by the older methods", async () => {
    const groups = await all(client.listGroupRuns({ projectId, groupBy: "conversation", limit: 2 }));
    expect(groups).toMatchObject([
      { group_key: "three", count: 3, filter: 'eq(thread_id, "three")' },
      { group_key: "two", count: 2 },
      { group_key: "one" },
    ]);
    expect((await client.listThreads({ projectId })).length).toBe(3);
    expect(await all(client.readThread({ threadId: "three", projectId }))).toHaveLength(3);
  });
});

describe("traces", () => {
  test("are queried with the numbers of the whole apart", async () => {
    const query = {
      project_id: projectId,
      selects: ["NAME" as const, "TOTAL_TOKENS" as const],
      page_size: 4,
    };
    const found = await all(client.traces.query(query));
    expect(found).toHaveLength(6);
    expect(found[0]).toEqual({
      root_run: { id: turns[5]!.id, name: "turn-5" },
      trace_aggregates: expect.objectContaining({ total_tokens: 7 }),
    });
    const one = client.traces.query({ project_id: projectId, trace_ids: [turns[1]!.id] });
    expect(await all(one)).toEqual([{ root_run: { id: turns[1]!.id } }]);
    const failed = client.traces.query({ project_id: projectId, trace_filter: 'eq(status, "error")' });
    expect(await all(failed)).toHaveLength(1);
  });

  test("a run's address leads to the console", async () => {
    const ids = { project_id: projectId, trace_id: turns[0]!.id };
    const { url } = await client.runs.getURL(turns[0]!.id, ids);
    expect(url).toMatch(new RegExp(`/projects/p/${projectId}/r/${turns[0]!.id}$`));
  });
});
