import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../../tests/support/app.ts";

let app: TestApp;
const runId = randomUUID();
let threadId: string;
let assistantId: string;
let projectId: string;
let datasetId: string;
let experimentId: string;
let queueId: string;
let alertId: string;
beforeAll(async () => {
  app = await createTestApp();
  const post = async <Body>(path: string, body: object) => {
    const answer = await app.call<Body>("POST", path, { body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  threadId = (await post<{ thread_id: string }>("/threads", { metadata: { title: "Weaving a Carpet" } }))
    .thread_id;
  assistantId = (
    await post<{ assistant_id: string }>("/assistants", { graph_id: "echo", name: "Carpet seller" })
  ).assistant_id;
  projectId = (await post<{ id: string }>("/api/v1/sessions", { name: "carpet traces" })).id;
  datasetId = (await post<{ id: string }>("/api/v1/datasets", { name: "carpet questions" })).id;
  experimentId = (
    await post<{ id: string }>("/api/v1/sessions", {
      name: "carpet-trial-1",
      reference_dataset_id: datasetId,
    })
  ).id;
  queueId = (await post<{ id: string }>("/api/v1/annotation-queues", { name: "Carpets to look at" })).id;
  alertId = (
    await post<{ id: string }>("/v2/alerts", {
      name: "Carpet errors",
      kind: "export_failed",
      scope: "workspace",
      scope_id: null,
      webhook_url: "http://127.0.0.1:9/hook",
    })
  ).id;
  await post("/api/v1/runs", {
    id: runId,
    name: "knot",
    run_type: "chain",
    start_time: new Date().toISOString(),
    inputs: {},
    session_name: "carpet traces",
  });
  await post("/v2/deployments", {
    name: "carpet-bot",
    source: "internal_source",
    source_config: { deployment_type: "dev" },
    source_revision_config: {},
    secrets: [],
  });
});
afterAll(() => app?.stop());

type Found = { kind: string; id: string; title: string; path: string };
const find = async (q: string, headers: Record<string, string> = {}) => {
  const path = `/v2/search?q=${encodeURIComponent(q)}`;
  return (await app.call<{ resources: Found[] }>("GET", path, { headers })).body.resources;
};

describe("GET /v2/search", () => {
  test("finds everything by a part of its name, with the page that shows it", async () => {
    const found = await find("CARPET");
    expect(Object.fromEntries(found.map(({ kind, path }) => [kind, path]))).toMatchObject({
      deployment: expect.stringMatching(/^\/deployments\//),
      assistant: "/agents/built-in?tab=assistants",
      thread: `/agents/built-in/threads/${threadId}`,
      project: `/traces/${projectId}`,
      dataset: `/datasets/${datasetId}`,
      experiment: `/datasets/${datasetId}/compare?selectedSessions=${experimentId}`,
      queue: `/queues/${queueId}`,
      alert: `/alerts/${alertId}`,
    });
  });

  test("finds by an id or its beginning, runs too", async () => {
    expect((await find(threadId))[0]).toMatchObject({ kind: "thread", title: "Weaving a Carpet" });
    expect((await find(threadId.slice(0, 13))).map(({ id }) => id)).toContain(threadId);
    expect((await find(assistantId)).map(({ kind }) => kind)).toContain("assistant");
    for (const id of [datasetId, experimentId, queueId, alertId])
      expect((await find(id.slice(0, 18))).map((each) => each.id)).toEqual([id]);
    expect(await find(runId.toUpperCase())).toMatchObject([
      { kind: "trace", title: "knot", path: `/o/${app.workspaceId}/projects/p/${projectId}/r/${runId}` },
    ]);
  });

  test("finds nothing of another workspace, at most five of a kind, and refuses an empty search", async () => {
    for (let index = 0; index < 6; index++)
      await app.call("POST", "/threads", { body: { metadata: { title: `Many ${index}` } } });
    expect(await find("many")).toHaveLength(5);
    expect((await app.call("GET", "/v2/search?q=%20")).status).toBe(422);
    const other = await app.call<{ id: string }>("POST", "/v2/workspaces", { body: { name: "Other" } });
    const inOther = { "x-tenant-id": other.body.id };
    for (const q of [
      "carpet",
      threadId,
      runId,
      assistantId,
      projectId,
      datasetId,
      experimentId,
      queueId,
      alertId,
    ])
      expect(await find(q, inOther)).toEqual([]);
  });
});
