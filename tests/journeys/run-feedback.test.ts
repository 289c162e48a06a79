import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { waitUntil } from "../support/components/wait-until.ts";

/** From a run to the feedback on its trace. */
let app: TestApp;
let client: Client;
beforeAll(async () => {
  app = await createTestApp();
  client = new Client({ apiUrl: await app.listen(), apiKey: app.apiKey, callerOptions: { maxRetries: 0 } });
});
afterAll(() => app?.stop());

const input = { messages: [{ role: "user", content: "hello" }] };

describe("feedback_keys", () => {
  it("end the stream with links, and what is given with one is feedback on the run's trace", async () => {
    const { thread_id } = await client.threads.create();
    const parts: { event: string; data: unknown }[] = [];
    const payload = { input, feedbackKeys: ["helpful", "tone"] };
    for await (const part of client.runs.stream(thread_id, "echo", payload)) parts.push(part);
    const last = parts.at(-1)!;
    expect(last.event).toBe("feedback");
    const links = last.data as Record<string, string>;
    expect(Object.keys(links).sort()).toEqual(["helpful", "tone"]);
    const given = await fetch(links.helpful!, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ score: 1, comment: "very" }),
    });
    expect(given.status).toBe(200);
    const { run_id } = parts[0]!.data as { run_id: string };
    await waitUntil(
      async () => {
        const { body } = await app.call<{ key: string; score: number }[]>(
          "GET",
          `/api/v1/feedback?run=${run_id}`,
        );
        return body.some(({ key, score }) => key === "helpful" && Number(score) === 1);
      },
      { what: "the feedback on the run", timeoutMs: 20_000 },
    );
  });
});

describe("langsmith_tracer", () => {
  it("names the project the run is traced in", async () => {
    const tracer = { project_name: "trials" };
    const { status, body } = await app.call<{ messages: unknown[] }>("POST", "/runs/wait", {
      body: { assistant_id: "echo", input, langsmith_tracer: tracer },
    });
    expect([status, body.messages.length > 0]).toEqual([200, true]);
    await waitUntil(
      async () => {
        const found = await app.call<{ name: string }[]>("GET", "/api/v1/sessions?name=trials");
        return found.body.length === 1;
      },
      { what: "the project", timeoutMs: 20_000 },
    );
  });
});
