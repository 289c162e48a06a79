import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, type SamplePart, type TracesApp } from "../../../tests/support/traces-app.ts";

const mine = "mine";
let app: TracesApp;
let key: string;
let otherProject: string;

beforeAll(async () => {
  app = await createTracesApp();
  const made = await app.app.call("POST", "/v2/api-keys", {
    body: { name: "an agent", service: true, scopes: ["traces:write"], tracing_project: mine },
  });
  key = (made.body as { key: string }).key;
  const project = await app.app.call("POST", "/api/v1/sessions", { body: { name: "theirs" } });
  otherProject = (project.body as { id: string }).id;
});
afterAll(() => app.stop());

const now = () => new Date().toISOString();
const aRun = (more: Record<string, unknown> = {}) => ({
  id: randomUUID(),
  name: "step",
  run_type: "chain",
  start_time: now(),
  inputs: { said: "before" },
  ...more,
});
const send = (method: string, path: string, body: unknown, by = key) =>
  app.app.call(method, path, { body, key: by });
const multipart = (parts: SamplePart[]) => app.multipart(parts, { headers: { "x-api-key": key } });

/** A run of another project of the same workspace. */
async function theirRun(): Promise<string> {
  const run = aRun({ session_id: otherProject });
  expect((await send("POST", "/api/v1/runs", run, app.app.apiKey)).status).toBe(202);
  return run.id;
}

async function projectOf(id: string): Promise<string> {
  const { session_id } = (await app.run(id))!;
  return ((await app.app.call("GET", `/api/v1/sessions/${session_id}`)).body as { name: string }).name;
}

const refused = { status: 403, body: { detail: expect.stringContaining(`the project "${mine}"`) } };

describe("a key of one tracing project", () => {
  test("writes to it, by name or without one, and patches its runs", async () => {
    for (const named of [{ session_name: mine }, {}]) {
      const run = aRun(named);
      expect((await send("POST", "/api/v1/runs", run)).status).toBe(202);
      expect(
        (await send("PATCH", `/api/v1/runs/${run.id}`, { outputs: { x: 1 }, end_time: now() })).status,
      ).toBe(202);
      expect(await projectOf(run.id)).toBe(mine);
      expect(await app.run(run.id)).toMatchObject({ outputs: { x: 1 } });
    }
  });

  test("a patch that comes before its run is kept for it", async () => {
    const run = aRun({ session_name: mine });
    expect((await send("PATCH", `/api/v1/runs/${run.id}`, { outputs: { early: true } })).status).toBe(202);
    expect((await send("POST", "/api/v1/runs", run)).status).toBe(202);
    expect(await app.run(run.id)).toMatchObject({ outputs: { early: true } });
  });

  test("403 for another project, by name and by id, and none is made", async () => {
    expect(await send("POST", "/api/v1/runs", aRun({ session_name: "theirs" }))).toMatchObject(refused);
    expect(await send("POST", "/api/v1/runs", aRun({ session_name: "new one" }))).toMatchObject(refused);
    expect(await send("POST", "/api/v1/runs", aRun({ session_id: otherProject }))).toMatchObject(refused);
    const made = await app.app.call("GET", "/api/v1/sessions?name=new%20one");
    expect(made.body).toEqual([]);
  });

  test("403 for a run that stands in another project, whatever it is called", async () => {
    const id = await theirRun();
    const change = { outputs: { stolen: true } };
    expect(await send("PATCH", `/api/v1/runs/${id}`, change)).toMatchObject(refused);
    expect(await send("PATCH", `/api/v1/runs/${id}`, { ...change, session_name: mine })).toMatchObject(
      refused,
    );
    expect(await send("POST", "/api/v1/runs", aRun({ id, session_name: mine, ...change }))).toMatchObject(
      refused,
    );
    expect(await app.run(id)).toMatchObject({ inputs: { said: "before" }, outputs: null });
    expect(await projectOf(id)).toBe("theirs");
  });

  test("a patch sent ahead never reaches a run that then comes in another project", async () => {
    const run = aRun({ session_id: otherProject });
    expect((await send("PATCH", `/api/v1/runs/${run.id}`, { outputs: { planted: true } })).status).toBe(202);
    expect((await send("POST", "/api/v1/runs", run, app.app.apiKey)).status).toBe(202);
    expect(await app.run(run.id)).toMatchObject({ outputs: null });
    // What was refused does not wait for ever.
    const [left] = await app.testDatabase.database.query<{ n: number }>(
      { name: "", text: "select count(*)::int as n from trace_parked_patches where run_id = $1" },
      [run.id],
    );
    expect(left!.n).toBe(0);
  });

  test("of a batch, its own part is stored and the others are named", async () => {
    const id = await theirRun();
    const own = aRun({ session_name: mine });
    const answer = await send("POST", "/api/v1/runs/batch", {
      post: [own, aRun({ session_name: "theirs" })],
      patch: [{ id, outputs: { stolen: true } }],
    });
    expect(answer).toMatchObject({
      status: 202,
      body: { errors: [{ part: "post.1" }, { part: "patch.0" }] },
    });
    expect(await projectOf(own.id)).toBe(mine);
    expect(await app.run(id)).toMatchObject({ outputs: null });
  });

  test("multipart: runs, attachments and feedback are held to it as well", async () => {
    const id = await theirRun();
    const feedbackId = randomUUID();
    expect(
      await multipart([
        { name: `patch.${id}`, value: { id, trace_id: id } },
        { name: `patch.${id}.outputs`, value: { stolen: true } },
      ]),
    ).toMatchObject(refused);
    expect(
      await multipart([{ name: `attachment.${id}.note`, bytes: Buffer.from("planted"), type: "text/plain" }]),
    ).toMatchObject(refused);
    expect(
      await multipart([{ name: `feedback.${feedbackId}`, value: { key: "score", score: 1, run_id: id } }]),
    ).toMatchObject(refused);
    const own = aRun({ session_name: mine });
    expect(
      await multipart([
        { name: `post.${own.id}`, value: { ...own, inputs: undefined } },
        { name: `attachment.${own.id}.note`, bytes: Buffer.from("mine"), type: "text/plain" },
        { name: `feedback.${randomUUID()}`, value: { key: "score", score: 1, run_id: own.id } },
      ]),
    ).toMatchObject({ status: 202, body: { message: "Runs ingested" } });
    const attached = await app.app.call("GET", `/api/v1/runs/${id}/attachments`);
    expect(JSON.stringify(attached.body)).not.toContain("note");
  });

  test("feedback: on its own runs, on no others, on no run that may yet come, and not over that of others", async () => {
    const own = aRun({ session_name: mine });
    await send("POST", "/api/v1/runs", own);
    const id = await theirRun();
    const good = await send("POST", "/api/v1/feedback", { key: "score", score: 1, run_id: own.id });
    expect(good.status).toBe(200);
    for (const on of [{ run_id: id }, { run_id: randomUUID() }, { session_id: otherProject }]) {
      expect(await send("POST", "/api/v1/feedback", { key: "score", score: 0, ...on })).toMatchObject(
        refused,
      );
    }
    const feedbackId = randomUUID();
    const theirs = { id: feedbackId, key: "score", score: 1, run_id: id };
    expect((await send("POST", "/api/v1/feedback", theirs, app.app.apiKey)).status).toBe(200);
    const over = { id: feedbackId, key: "score", score: 0, run_id: own.id };
    expect((await send("POST", "/api/v1/feedback", over)).status).toBe(409);
    const kept = await app.app.call("GET", `/api/v1/feedback/${feedbackId}`);
    expect(kept.body).toMatchObject({ score: 1 });
  });

  test("OTLP: its own project by default and by header, no other", async () => {
    const trace = () => ({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId: randomUUID().replaceAll("-", ""),
                  spanId: randomUUID().replaceAll("-", "").slice(0, 16),
                  name: "span",
                  startTimeUnixNano: `${Date.now()}000000`,
                  endTimeUnixNano: `${Date.now()}000000`,
                },
              ],
            },
          ],
        },
      ],
    });
    const otlp = (project?: string) =>
      app.app.call("POST", "/api/v1/otel/v1/traces", {
        key,
        body: trace(),
        ...(project ? { headers: { "langsmith-project": project } } : {}),
      });
    expect(await otlp()).toMatchObject({ status: 200, body: { partialSuccess: {} } });
    expect(await otlp(mine)).toMatchObject({ status: 200, body: { partialSuccess: {} } });
    expect(await otlp("theirs")).toMatchObject(refused);
  });
});
