import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startAgent } from "../support/agent-command.ts";
import { createTestApp, type TestApp } from "../support/app.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase } from "../support/database.ts";

const journal = fileURLToPath(new URL("../fixtures/projects/journal/langgraph.json", import.meta.url));

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

  const traced = async (project: string) => {
    const { body } = await app.call<{ id: string }[]>("GET", `/api/v1/sessions?name=${project}`);
    if (!body[0]) return [];
    const found = await app.call<{ runs: { reference_example_id: string | null; run_type: string }[] }>(
      "POST",
      "/api/v1/runs/query",
      { body: { session: [body[0].id], is_root: true } },
    );
    return found.body.runs.map((run) => run.reference_example_id);
  };
  const tracedAs = (project: string, exampleId: string) =>
    waitUntil(async () => (await traced(project)).includes(exampleId), {
      what: `a trace in ${project} that refers to the example`,
      timeoutMs: 20_000,
    });

  it("names the example that the trace refers to", async () => {
    const exampleId = randomUUID();
    await client.runs.wait(null, "echo", {
      input,
      _langsmithTracer: { projectName: "on-examples", exampleId },
    } as object);
    await tracedAs("on-examples", exampleId);
  });

  it("does the same on an agent server alone, when its environment traces", { timeout: 60_000 }, async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const start = async (env: Record<string, string>) => {
      const needed = { DATABASE_URL: database.url, LG_WEBHOOK_TOKEN: "a-token-for-receivers" };
      const agent = await startAgent(journal, { ...needed, ...env });
      onTestFinished(() => agent.process.kill().then(() => undefined));
      return agent;
    };
    const ask = async (url: string, exampleId: string) => {
      const langsmith_tracer = { project_name: "from-outside", example_id: exampleId };
      const answer = await fetch(`${url}/runs/wait`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ assistant_id: "journal", input: {}, langsmith_tracer }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const untraced = await start({});
    const refused = await ask(untraced.ready.url, randomUUID());
    // It would take the runs of the next one.
    await untraced.process.kill();
    expect(refused).toMatchObject({
      status: 422,
      text: expect.stringContaining("LANGSMITH_TRACING=true"),
    });
    const exampleId = randomUUID();
    const tracing = await start({
      LANGSMITH_TRACING: "true",
      LANGSMITH_ENDPOINT: `${await app.listen()}/api/v1`,
      LANGSMITH_API_KEY: app.apiKey,
    });
    expect(await ask(tracing.ready.url, exampleId)).toMatchObject({ status: 200 });
    await tracedAs("from-outside", exampleId);
  });
});
