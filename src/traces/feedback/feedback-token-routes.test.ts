import { randomUUID } from "node:crypto";
import { Client } from "langsmith";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
let client: Client;
let url: string;
beforeAll(async () => {
  subject = await createTracesApp();
  url = (await subject.listen()).url;
  client = new Client({ apiUrl: `${url}/api/v1`, apiKey: subject.app.apiKey });
});
afterAll(() => subject.stop());

async function listed(runId: string) {
  const found = [];
  for await (const each of client.listFeedback({ runIds: [runId] })) found.push(each);
  return found;
}

/** As a page does it: the link alone, no key. */
function give(link: string, body: unknown): Promise<Response> {
  return fetch(link, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

describe("a feedback link", () => {
  test("takes feedback without a key; what is given again replaces it", async () => {
    const run = samplePost();
    await subject.app.call("POST", "/api/v1/runs", { body: run });
    const token = await client.createPresignedFeedbackToken(run.id, "helpful");
    expect(token).toMatchObject({ id: expect.any(String), url: expect.stringContaining(`${url}/api/v1/`) });
    const life = Date.parse(token.expires_at) - Date.now();
    expect(life).toBeGreaterThan(2.9 * 3_600_000);
    expect(life).toBeLessThan(3.1 * 3_600_000);

    expect((await give(token.url, { score: 1, comment: "good", metadata: { page: "/a" } })).status).toBe(200);
    expect(await listed(run.id)).toMatchObject([
      { key: "helpful", score: 1, comment: "good", session_id: expect.any(String) },
    ]);
    expect((await fetch(`${token.url}?score=0&comment=bad`)).status).toBe(200);
    expect(await listed(run.id)).toMatchObject([{ key: "helpful", score: 0, comment: "bad" }]);
    expect((await give(token.url, { score: "much" })).status).toBe(422);
  });

  test("is for one run and one key, in the workspace that made it", async () => {
    const runId = randomUUID();
    const token = await client.createPresignedFeedbackToken(runId, "thumb", {
      expiration: new Date(Date.now() + 60_000).toISOString(),
      feedbackConfig: { type: "categorical", categories: [{ value: 1, label: "up" }] },
    });
    const listedTokens = [];
    for await (const each of client.listPresignedFeedbackTokens(runId)) listedTokens.push(each);
    expect(listedTokens).toEqual([token]);
    const other = await subject.app.call("GET", `/api/v1/feedback/tokens?run_id=${randomUUID()}`);
    expect(other.body).toEqual([]);
    await give(token.url, { score: 1, run_id: randomUUID(), key: "other", id: randomUUID() });
    expect(await listed(runId)).toMatchObject([{ key: "thumb", run_id: runId }]);
    const configs = [];
    for await (const each of client.listFeedbackConfigs({ feedbackKeys: ["thumb"] })) configs.push(each);
    expect(configs).toMatchObject([{ feedback_key: "thumb", feedback_config: { type: "categorical" } }]);
  });

  test("404 when it is unknown or has ended", async () => {
    const runId = randomUUID();
    expect((await give(`${url}/api/v1/feedback/tokens/${randomUUID()}`, { score: 1 })).status).toBe(404);
    const { url: link, id } = await client.createPresignedFeedbackToken(runId, "k");
    const { sql } = subject.testDatabase.database;
    await sql
      .updateTable("trace_feedback_tokens")
      .set({ expires_at: new Date(0) })
      .where("id", "=", id)
      .execute();
    expect((await give(link, { score: 1 })).status).toBe(404);
    expect((await subject.app.call("GET", `/api/v1/feedback/tokens?run_id=${runId}`)).body).toEqual([]);
  });

  test("several at once, as the Python client asks for them; none of another's feedback is replaced", async () => {
    const run_id = randomUUID();
    const wanted = await client.createFeedback(run_id, "kept", { score: 0.5 });
    const body = [
      { run_id, feedback_key: "a", expires_in: { days: 1, hours: 0, minutes: 0 }, expires_at: null },
      { run_id, feedback_key: "b", id: wanted.id, expires_in: { minutes: 5 } },
    ];
    const made = await fetch(`${url}/api/v1/feedback/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": subject.app.apiKey },
      body: JSON.stringify(body),
    });
    const [a, b] = (await made.json()) as { url: string }[];
    expect((await give(a!.url, { score: 1 })).status).toBe(200);
    expect((await give(b!.url, { score: 1 })).status).toBe(409);
    expect((await client.readFeedback(wanted.id)).score).toBe(0.5);
  });

  test("422 for an end that is past or too far, 401 without a key", async () => {
    const ask = (fields: object) =>
      subject.app.call("POST", "/api/v1/feedback/tokens", {
        body: { run_id: randomUUID(), feedback_key: "k", ...fields },
      });
    expect((await ask({ expires_at: "2020-01-01T00:00:00Z" })).status).toBe(422);
    expect((await ask({ expires_in: { days: 500 } })).status).toBe(422);
    expect((await ask({ expires_at: "soon" })).status).toBe(422);
    const without = await fetch(`${url}/api/v1/feedback/tokens`, { method: "POST", body: "{}" });
    expect(without.status).toBe(401);
  });

  test("for runs of this process, by key", async () => {
    const runId = randomUUID();
    const urls = await subject.traces.feedbackUrls(subject.app.workspaceId, runId, ["a", "b", "a"]);
    expect(Object.keys(urls)).toEqual(["a", "b"]);
    expect((await give(`${url}${new URL(urls.a!, url).pathname}`, { score: 1 })).status).toBe(200);
    expect(await listed(runId)).toMatchObject([{ key: "a", score: 1 }]);
  });
});

describe("feedback configs", () => {
  test("are made, listed, changed and deleted", async () => {
    const feedbackKey = randomUUID();
    const feedbackConfig = { type: "continuous" as const, min: 0, max: 10 };
    const made = await client.createFeedbackConfig({ feedbackKey, feedbackConfig });
    expect(made).toMatchObject({
      feedback_key: feedbackKey,
      tenant_id: subject.app.workspaceId,
      feedback_config: feedbackConfig,
      is_lower_score_better: false,
    });
    // The same again is what was asked for; another is not.
    await client.createFeedbackConfig({ feedbackKey, feedbackConfig });
    await expect(
      client.createFeedbackConfig({ feedbackKey, feedbackConfig: { type: "freeform" } }),
    ).rejects.toThrow(/exists already/);
    const changed = await client.updateFeedbackConfig(feedbackKey, { isLowerScoreBetter: true });
    expect(changed).toMatchObject({ feedback_config: feedbackConfig, is_lower_score_better: true });
    const found = [];
    for await (const each of client.listFeedbackConfigs({ nameContains: feedbackKey.slice(5).toUpperCase() }))
      found.push(each.feedback_key);
    expect(found).toEqual([feedbackKey]);
    await client.deleteFeedbackConfig(feedbackKey);
    await expect(client.updateFeedbackConfig(feedbackKey, {})).rejects.toThrow(/404|no feedback config/);
  });
});
