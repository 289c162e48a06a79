import { createHmac } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { type HttpListener, startHttpListener } from "../support/components/http-listener.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const journal = fileURLToPath(new URL("../fixtures/projects/journal/langgraph.json", import.meta.url));
const secret = "the secret of the receiver";

type Delivery = { path: string; headers: IncomingHttpHeaders; text: string };

let database: TestDatabase;
let receiver: HttpListener;
let agent: RunningAgent;
let client: Client;
let folder: string;
const deliveries: Delivery[] = [];
/** Status codes a path answers with, one after the other; then 200. */
const answers = new Map<string, number[]>();

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "treadle-webhooks-"));
  receiver = await startHttpListener(() => (request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    request.on("end", () => {
      const path = request.url ?? "";
      deliveries.push({ path, headers: request.headers, text });
      response.writeHead(answers.get(path)?.shift() ?? 200).end();
    });
  });
  const env = { DATABASE_URL: database.url, LG_WEBHOOK_TOKEN: "a-token", TREADLE_WEBHOOK_SECRET: secret };
  agent = await startAgent(journal, env);
  client = new Client({ apiUrl: agent.ready.url, apiKey: null, callerOptions: { maxRetries: 0 } });
});

afterAll(async () => {
  await agent.process.stop();
  await receiver.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

function deliveriesTo(path: string): Delivery[] {
  return deliveries.filter((delivery) => delivery.path === path);
}

function waitForDeliveries(path: string, count = 1): Promise<Delivery[]> {
  return waitUntil(() => deliveriesTo(path).length >= count && deliveriesTo(path), {
    what: `${count} deliveries to ${path}`,
    timeoutMs: 20_000,
    evidence: () => agent.process.output(),
  });
}

describe("a webhook", () => {
  test("tells how the run ended, signed, with the project's headers", async () => {
    const thread = await client.threads.create();
    const run = await client.runs.create(thread.thread_id, "journal", {
      input: {},
      webhook: `${receiver.origin}/success`,
    });
    const [delivery] = await waitForDeliveries("/success");
    const { headers, text } = delivery!;
    expect(JSON.parse(text)).toMatchObject({
      run_id: run.run_id,
      thread_id: thread.thread_id,
      assistant_id: run.assistant_id,
      status: "success",
      values: { pages: ["first", "second", "third"] },
      error: null,
      run_started_at: expect.stringMatching(/Z$/),
      run_ended_at: expect.stringMatching(/Z$/),
      webhook_sent_at: expect.stringMatching(/Z$/),
      kwargs: { webhook: `${receiver.origin}/success` },
    });
    expect(headers).toMatchObject({
      authorization: "Bearer a-token",
      "content-type": "application/json",
      "x-treadle-run-id": run.run_id,
    });
    const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-treadle-signature"])) ?? [];
    expect(mac).toBe(createHmac("sha256", secret).update(`${seconds}.${text}`).digest("hex"));
  });

  test("tells what went wrong", async () => {
    const thread = await client.threads.create();
    const webhook = `${receiver.origin}/failure`;
    await client.runs.create(thread.thread_id, "journal", { input: { fail: true }, webhook });
    const [delivery] = await waitForDeliveries("/failure");
    expect(JSON.parse(delivery!.text)).toMatchObject({
      status: "error",
      error: { error: "RangeError", message: "the second page is missing" },
    });
  });

  test("is sent again while the receiver is unwell, and once when it is well", async () => {
    answers.set("/unwell", [503, 500]);
    const thread = await client.threads.create();
    await client.runs.create(thread.thread_id, "journal", {
      input: {},
      webhook: `${receiver.origin}/unwell`,
    });
    const [first, , third] = await waitForDeliveries("/unwell", 3);
    expect(JSON.parse(third!.text).run_id).toBe(JSON.parse(first!.text).run_id);
    await waitUntil(async () => (await jobStatuses()).every((status) => status === "succeeded"), {
      what: "the jobs to be done",
      timeoutMs: 20_000,
    });
    expect(deliveriesTo("/unwell")).toHaveLength(3);
  });

  test("comes for a stateless run too, although nothing of it is left", async () => {
    await client.runs.wait(null, "journal", { input: {}, webhook: `${receiver.origin}/stateless` });
    const [delivery] = await waitForDeliveries("/stateless");
    expect(JSON.parse(delivery!.text)).toMatchObject({ status: "success", values: { greeting: "hello" } });
  });

  test("comes for a run that was cancelled before it began", async () => {
    const thread = await client.threads.create();
    const run = await client.runs.create(thread.thread_id, "journal", {
      input: {},
      afterSeconds: 600,
      webhook: `${receiver.origin}/cancelled`,
    });
    await client.runs.cancel(thread.thread_id, run.run_id);
    const [delivery] = await waitForDeliveries("/cancelled");
    expect(JSON.parse(delivery!.text)).toMatchObject({ status: "interrupted", run_started_at: null });
  });

  test("comes once for a run whose process was killed, from the process that ended it", async () => {
    const gate = join(folder, "gate");
    const env = { DATABASE_URL: database.url, LG_WEBHOOK_TOKEN: "x", TREADLE_RUN_LEASE_SECONDS: "3" };
    const victim = await startAgent(journal, env);
    const other = new Client({ apiUrl: victim.ready.url, apiKey: null, callerOptions: { maxRetries: 0 } });
    const thread = await other.threads.create();
    const webhook = `${receiver.origin}/killed`;
    const file = join(folder, "journal.txt");
    await other.runs.create(thread.thread_id, "journal", { input: { gate, file }, webhook });
    await waitUntil(() => existsSync(file) && readFileSync(file, "utf8").includes("second"), {
      what: "the second node to begin",
      timeoutMs: 20_000,
    });
    await victim.process.kill();
    writeFileSync(gate, "");
    const [delivery] = await waitForDeliveries("/killed");
    expect(JSON.parse(delivery!.text)).toMatchObject({
      status: "success",
      values: { pages: ["first", "second", "third"] },
    });
    expect(deliveriesTo("/killed")).toHaveLength(1);
  }, 60_000);

  async function jobStatuses(): Promise<string[]> {
    const rows = await database.database.sql
      .selectFrom("jobs")
      .select("status")
      .where("kind", "=", "agent.webhook")
      .execute();
    return rows.map((row) => row.status);
  }
});

describe("a webhook that could never arrive is refused with the run", () => {
  test.each([
    ["/relative", /http\.app/],
    ["ftp://example.com/hook", /http or https/],
    ["http://169.254.169.254/latest", /reserved address|not permitted/],
  ])("%s", async (webhook, message) => {
    await expect(client.runs.create(null, "journal", { input: {}, webhook })).rejects.toThrow(/HTTP 422/);
    await expect(client.runs.create(null, "journal", { input: {}, webhook })).rejects.toThrow(message);
  });

  test("and a private one where private addresses are not allowed", async () => {
    const env = { DATABASE_URL: database.url, LG_WEBHOOK_TOKEN: "x", TREADLE_ALLOW_PRIVATE_ADDRESSES: "0" };
    const closed = await startAgent(journal, env);
    try {
      const strict = new Client({ apiUrl: closed.ready.url, apiKey: null, callerOptions: { maxRetries: 0 } });
      await expect(
        strict.runs.create(null, "journal", { input: {}, webhook: `${receiver.origin}/private` }),
      ).rejects.toThrow(/HTTP 422.*private address/);
    } finally {
      await closed.process.stop();
    }
  });
});
