import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject.stop());

type Answer = { status: number; body: unknown };
const call = (method: string, path: string, body?: unknown) =>
  subject.app.call(method, path, body === undefined ? {} : { body }) as Promise<Answer>;
const made = async (path: string, body: unknown) => (await call("POST", path, body)).body as { id: string };

/** Two experiments on one example, and two comparisons of them. */
async function compared() {
  const dataset = await made("/api/v1/datasets", { name: randomUUID() });
  const example = await made("/api/v1/examples", { dataset_id: dataset.id, inputs: { q: 1 } });
  const experiments: { id: string; run: string }[] = [];
  for (const name of [randomUUID(), randomUUID()]) {
    const { id } = await made("/api/v1/sessions", { name, reference_dataset_id: dataset.id });
    const post = samplePost({
      session_name: name,
      reference_example_id: example.id,
      inputs: { long: "x".repeat(2_000) },
      outputs: { answer: "y".repeat(2_000) },
    });
    await call("POST", "/api/v1/runs", post);
    experiments.push({ id, run: post.id });
  }
  const experiment_ids = experiments.map(({ id }) => id);
  const [one, other] = [
    await made("/api/v1/datasets/comparative", { name: "one", experiment_ids }),
    await made("/api/v1/datasets/comparative", { name: "other", experiment_ids }),
  ];
  return { datasetId: dataset.id, experiments, experiment_ids, one, other };
}

type Shown = { runs: { id: string; inputs?: unknown; inputs_preview?: string; feedback_stats: object }[] };

test("previews are the beginnings of what a run holds", async () => {
  const { datasetId, experiment_ids } = await compared();
  const asked = { session_ids: experiment_ids, preview: true };
  const [shown] = (await call("POST", `/api/v1/datasets/${datasetId}/runs`, asked)).body as Shown[];
  expect(shown!.runs).toHaveLength(2);
  for (const run of shown!.runs) {
    expect(run).not.toHaveProperty("inputs");
    expect(run).not.toHaveProperty("outputs");
    expect(run.inputs_preview).toMatch(/^\{"long":\s?"x{100,241}$/);
    expect(run).toMatchObject({ outputs_preview: expect.stringContaining("yyy"), name: "root" });
  }
  const whole = await call("POST", `/api/v1/datasets/${datasetId}/runs`, { session_ids: experiment_ids });
  expect((whole.body as Shown[])[0]!.runs[0]!.inputs).toEqual({ long: "x".repeat(2_000) });
});

test("a comparison leaves out the feedback that was given in others", async () => {
  const { datasetId, experiments, experiment_ids, one, other } = await compared();
  const run_id = experiments[0]!.run;
  for (const [score, comparison] of [
    [1, one.id],
    [0, other.id],
  ] as const)
    await call("POST", "/api/v1/feedback", {
      run_id,
      key: "better",
      score,
      comparative_experiment_id: comparison,
    });
  await call("POST", "/api/v1/feedback", { run_id, key: "tone", value: "calm" });
  const statsIn = async (comparison: string | undefined) => {
    const asked = {
      experiment_ids,
      comparative_experiment_id: comparison,
      selects: ["ID", "FEEDBACK_STATS"],
    };
    const answer = await call("POST", `/api/v2/datasets/${datasetId}/experiment-runs`, asked);
    const { items } = answer.body as { items: Shown[] };
    return items[0]!.runs.find((run) => run.id === run_id)!.feedback_stats;
  };
  const tone = { n: 1, avg: null, values: { calm: 1 } };
  expect(await statsIn(undefined)).toEqual({ better: { n: 2, avg: 0.5, values: {} }, tone });
  expect(await statsIn(one.id)).toEqual({ better: { n: 1, avg: 1, values: {} }, tone });
  expect(await statsIn(other.id)).toEqual({ better: { n: 1, avg: 0, values: {} }, tone });

  const meanIn = async (comparison: string) => {
    const of = experiment_ids.map((each) => `experiment=${each}`).join("&");
    const path = `/api/v1/datasets/${datasetId}/comparison?${of}&comparative_experiment=${comparison}`;
    const answer = await call("GET", path);
    if (answer.status !== 200) return answer.status;
    return (answer.body as { keys: { experiments: { avg: number }[] }[] }).keys[0]!.experiments[0]!.avg;
  };
  expect([await meanIn(one.id), await meanIn(other.id)]).toEqual([1, 0]);
  expect(await meanIn(randomUUID())).toBe(404);

  const listed = await call("GET", `/api/v1/datasets/${datasetId}/comparative?id=${other.id}`);
  expect(listed.body).toMatchObject([{ id: other.id, feedback_stats: { better: { n: 1, avg: 0 } } }]);
});

test("404 for a comparison that is not of this dataset, 422 for experiments it does not compare", async () => {
  const [mine, others] = [await compared(), await compared()];
  const ask = (comparison: string, session_ids: string[]) =>
    call("POST", `/api/v1/datasets/${mine.datasetId}/runs`, {
      session_ids,
      comparative_experiment_id: comparison,
    });
  expect((await ask(randomUUID(), mine.experiment_ids)).status).toBe(404);
  expect((await ask(others.one.id, mine.experiment_ids)).status).toBe(404);
  const stranger = await ask(mine.one.id, others.experiment_ids);
  expect([stranger.status, JSON.stringify(stranger.body)]).toEqual([
    422,
    expect.stringContaining("is not part of this comparison"),
  ]);
});

describe("comparing scores", () => {
  const compare = (datasetId: string, ids: readonly string[]) =>
    call(
      "GET",
      `/api/v1/datasets/${datasetId}/comparison?${ids.map((each) => `experiment=${each}`).join("&")}`,
    );

  test("200: what became better and worse since the first experiment", async () => {
    const { datasetId, experiments, experiment_ids } = await compared();
    const give = (run: string, key: string, score: number) =>
      call("POST", "/api/v1/feedback", { run_id: run, key, score });
    await call("POST", "/api/v1/feedback-configs", {
      feedback_key: "seconds",
      feedback_config: { type: "continuous" },
      is_lower_score_better: true,
    });
    for (const [index, { run }] of experiments.entries()) {
      await give(run, "right", 1 - index);
      await give(run, "seconds", 5 - index);
    }
    const [before, after] = experiment_ids;
    const { body } = await compare(datasetId, [before!, after!]);
    expect(body).toMatchObject({
      baseline_id: before,
      keys: [
        {
          key: "right",
          experiments: [
            { avg: 1, n: 1 },
            { avg: 0, worse: 1, better: 0 },
          ],
        },
        { key: "seconds", lower_is_better: true, experiments: [{ avg: 5 }, { avg: 4, better: 1, worse: 0 }] },
      ],
      worse: { count: 1, example_ids: [expect.any(String)] },
      better: { count: 0, example_ids: [] },
    });
    const turned = (await compare(datasetId, [after!, before!])).body;
    expect(turned).toMatchObject({ baseline_id: after, worse: { count: 1 } });
  });

  test("404: an experiment of another dataset", async () => {
    const [mine, others] = [await compared(), await compared()];
    expect((await compare(mine.datasetId, others.experiment_ids)).status).toBe(404);
    expect((await compare(randomUUID(), mine.experiment_ids)).status).toBe(404);
  });

  test("413: more experiments than fit beside one another", async () => {
    const { datasetId } = await compared();
    const many = Array.from({ length: 11 }, () => randomUUID());
    expect((await compare(datasetId, many)).status).toBe(413);
  });

  test("422: no experiment", async () => {
    expect((await compare((await compared()).datasetId, [])).status).toBe(422);
  });
});
