import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../../tests/support/traces-app.ts";

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject.stop());

test("runs of this process are stored without HTTP, in the project of their name", async () => {
  const { session_name: _name, ...record } = samplePost({ inputs: { a: 1 } });
  await subject.traces.ingestRuns(subject.app.workspaceId, "inside", [{ kind: "post", record }]);
  await subject.traces.ingestRuns(subject.app.workspaceId, "inside", [
    { kind: "patch", record: { id: record.id, end_time: "2026-10-05T10:00:01Z", outputs: { b: 2 } } },
  ]);
  const found = await subject.run(record.id as string);
  expect(found).toMatchObject({ inputs: { a: 1 }, outputs: { b: 2 }, status: "success" });
  const projects = (await subject.app.call("GET", "/api/v1/sessions?name=inside")).body as { id: string }[];
  expect(projects.map((project) => project.id)).toEqual([found?.session_id]);
  await expect(
    subject.traces.ingestRuns(subject.app.workspaceId, "inside", [{ kind: "post", record: { id: "x" } }]),
  ).rejects.toThrow("UUID");
});

test("recorded spans arrive, posts and patches in order", async () => {
  const place = { workspaceId: subject.app.workspaceId, project: "spans" };
  const { session_name: _name, ...post } = samplePost({ inputs: { text: "hällo" } });
  subject.traces.spans.record(place, "post", post);
  subject.traces.spans.record(place, "patch", {
    id: post.id,
    end_time: "2026-10-05T10:00:01Z",
    outputs: { ok: true },
    tags: ["x"],
  });
  await subject.traces.spans.flush();
  expect(await subject.run(post.id)).toMatchObject({
    inputs: { text: "hällo" },
    outputs: { ok: true },
    tags: ["x"],
    status: "success",
  });
  expect(subject.traces.spans.stats()).toMatchObject({ queued: 0, dropped: 0 });
});

test("a run of one workspace cannot be changed from another, even under its id", async () => {
  const post = samplePost({ inputs: { mine: true } });
  await subject.app.call("POST", "/api/v1/runs", { body: post });
  const other = (await subject.app.call("POST", "/v2/workspaces", { body: { name: randomUUID() } })).body as {
    id: string;
  };
  const tenant = { tenant: other.id };
  const sent = await subject.app.call("POST", "/api/v1/runs", {
    ...tenant,
    body: { ...post, inputs: { mine: false } },
  });
  expect(sent.status).toBe(202);
  expect(await subject.run(post.id)).toMatchObject({ inputs: { mine: true } });
  const theirs = await subject.app.call("GET", `/api/v1/runs/${post.id}`, tenant);
  expect(theirs).toMatchObject({ status: 200, body: { inputs: { mine: false } } });
  const project = (await subject.run(post.id))?.session_id as string;
  expect((await subject.app.call("GET", `/api/v1/sessions/${project}`, tenant)).status).toBe(404);
});
