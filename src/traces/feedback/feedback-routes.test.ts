import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject.stop());

const path = "/api/v1/feedback";
type Wire = Record<string, unknown> & { id: string };
const call = (method: string, where: string, body?: unknown) =>
  subject.app.call(method, where, body === undefined ? {} : { body }) as Promise<{
    status: number;
    body: Wire & Wire[];
  }>;

test("200 keeps scores, values of any kind and corrections, and finds the run's project", async () => {
  const run = samplePost();
  await subject.app.call("POST", "/api/v1/runs", { body: run });
  const source = { type: "api", metadata: { nul: "\u0000" } };
  const made = await call("POST", path, {
    run_id: run.id,
    key: "k",
    score: false,
    value: { a: [1] },
    correction: { b: 2 },
    comment: "c",
    feedback_source: source,
  });
  expect(made).toMatchObject({
    status: 200,
    body: { run_id: run.id, trace_id: run.id, score: 0, value: { a: [1] }, correction: { b: 2 } },
  });
  expect(made.body.session_id).toBe((await subject.run(run.id))?.session_id);
});

test("200 lists by run, project, key and source", async () => {
  const run = randomUUID();
  for (const [key, type] of [
    ["a", "api"],
    ["b", "model"],
    ["b", "api"],
  ])
    await call("POST", path, { run_id: run, key, feedback_source: { type } });
  const count = async (query: string) => (await call("GET", `${path}?run=${run}&${query}`)).body.length;
  expect([
    await count(""),
    await count("key=a&key=b"),
    await count("key=b"),
    await count("source=api"),
    await count("limit=2"),
    await count("offset=2"),
    await count(`session=${randomUUID()}`),
  ]).toEqual([3, 3, 2, 2, 2, 1, 0]);
});

test("statistics break down text values only", async () => {
  const run = samplePost();
  await subject.app.call("POST", "/api/v1/runs", { body: run });
  for (const value of ["good", "good", "bad", 3, true, { x: 1 }, null])
    await call("POST", path, { run_id: run.id, key: "k", value, score: value === "good" ? 1 : null });
  expect(await subject.run(run.id)).toMatchObject({
    feedback_stats: { k: { n: 7, avg: 1, values: { good: 2, bad: 1 } } },
  });
});

test("the same id replaces; PATCH changes what it names; DELETE removes", async () => {
  const id = randomUUID();
  const body = { id, run_id: randomUUID(), key: "k", score: 1, comment: "first" };
  await call("POST", path, body);
  expect((await call("POST", path, { ...body, score: 2 })).body).toMatchObject({ id, score: 2 });
  expect((await call("PATCH", `${path}/${id}`, { score: null })).body).toMatchObject({
    score: null,
    comment: "first",
  });
  expect((await call("DELETE", `${path}/${id}`)).status).toBe(200);
  expect((await call("DELETE", `${path}/${id}`)).status).toBe(404);
  expect((await call("PATCH", `${path}/${id}`, { score: 1 })).status).toBe(404);
});

test("422 for feedback on nothing, without a key, with a score that is none", async () => {
  const run_id = randomUUID();
  for (const body of [
    { key: "k" },
    { run_id },
    { run_id: "x", key: "k" },
    { run_id, key: "k", score: "high" },
  ]) {
    expect((await call("POST", path, body)).status).toBe(422);
  }
});

test("what clients call by another name, or say beside the score, is kept; an agent's feedback is refused", async () => {
  const run_id = randomUUID();
  const feedbackConfig = { type: "continuous", min: 0, max: 1 };
  const made = await call("POST", path, {
    run_id,
    key: "k",
    feedbackConfig,
    error: true,
    extra: { by: "evaluator" },
    extend_trace_retention: true,
  });
  expect(made).toMatchObject({
    status: 200,
    body: { feedback_config: feedbackConfig, extra: { by: "evaluator", error: true } },
  });
  const refused = await call("POST", path, { run_id, key: "k", agent_id: "helper" });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    422,
    expect.stringContaining("send the project as session_id"),
  ]);
});
