import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "./support/app.ts";
import {
  type StatementMeter,
  type Statements,
  startStatementMeter,
} from "./support/components/statement-meter.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { multipartBody, sampleChild, samplePost } from "./support/traces-app.ts";

/**
 * Round trips to PostgreSQL of a request on the whole application. They do not depend on the machine, so they are
 * asserted where speed is not. A request that needs more by a tenth fails (of fewer than ten: by one). If that is what
 * a change is worth, or if it needs fewer, record the new figure here.
 */
const recorded = {
  "POST /threads": 1,
  "32 of POST /threads at once": 1,
  "POST /runs/wait, echo": 6,
  "16 of POST /runs/wait at once": 6,
  "POST /runs/stream, echo": 7,
  "GET state": 1,
  "GET history": 1,
  "POST /threads/search": 2,
  "POST /runs/multipart, ten runs": 3,
};
const allowedGrowth = 1.1;
/** So many that nothing that recurs by the clock, such as a lease, falls into each of them. */
const rounds = 7;
/** The queue's worker asks by itself, and often just after the start. */
const ofTheQueue = "jobs_";

let database: TestDatabase;
let meter: StatementMeter;
let app: TestApp;
const threadId = randomUUID();

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 1 });
  meter = await startStatementMeter(database.url);
  app = await createTestApp({ databaseUrl: meter.url, tracing: false });
  await app.listen();
  for (let run = 0; run < 3; run += 1) await echo("wait", threadId);
});
afterAll(async () => {
  await app?.stop();
  await meter?.stop();
  await database?.drop();
});

async function ask(method: string, path: string, body?: unknown): Promise<void> {
  const response = await app.fetch(path, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
}

function echo(how: "wait" | "stream", thread: string = randomUUID()): Promise<void> {
  return ask("POST", `/threads/${thread}/runs/${how}`, {
    assistant_id: "echo",
    if_not_exists: "create",
    input: { messages: [{ role: "user", content: "hello" }] },
  });
}

async function ingest(): Promise<void> {
  const root = samplePost({ start_time: new Date().toISOString() });
  const runs = [root, ...Array.from({ length: 9 }, () => sampleChild(root))];
  const boundary = randomUUID();
  const parts = runs.flatMap((run) => [
    { name: `post.${run.id}`, value: run },
    { name: `post.${run.id}.inputs`, value: { question: "hello" } },
  ]);
  const response = await app.fetch("/api/v1/runs/multipart", {
    method: "POST",
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: new Uint8Array(multipartBody(parts, boundary)),
  });
  expect(response.status).toBe(202);
}

const together = (times: number, request: () => Promise<void>) =>
  Promise.all(Array.from({ length: times }, request));

const requests: Record<keyof typeof recorded, () => Promise<unknown>> = {
  "POST /threads": () => ask("POST", "/threads", {}),
  "32 of POST /threads at once": () => together(32, () => ask("POST", "/threads", {})),
  "POST /runs/wait, echo": () => echo("wait"),
  "16 of POST /runs/wait at once": () => together(16, () => echo("wait")),
  "POST /runs/stream, echo": () => echo("stream"),
  "GET state": () => ask("GET", `/threads/${threadId}/state`),
  "GET history": () => ask("GET", `/threads/${threadId}/history?limit=100`),
  "POST /threads/search": () => ask("POST", "/threads/search", { limit: 10 }),
  "POST /runs/multipart, ten runs": ingest,
};

/** Of each statement the least that a round needed. */
function leastOf(asked: readonly Statements[]): [label: string, count: number][] {
  const labels = [...asked[0]!.keys()];
  return labels
    .map((label): [string, number] => [label, Math.min(...asked.map((each) => each.get(label) ?? 0))])
    .filter(([label, count]) => count > 0 && !label.startsWith(ofTheQueue));
}

it("the meter counts simple, prepared and grouped statements, and none of a connection that listens", async () => {
  const own = await startStatementMeter(database.url);
  const client = new pg.Client({ connectionString: own.url });
  await client.connect();
  const named = { name: "twice_v1", text: "select $1::int * 2" };
  const asked = await own.during(async () => {
    await client.query("begin");
    for (const value of [1, 2]) await client.query({ ...named, values: [value] });
    await client.query("select  $1::text\n as word", ["x"]);
    await client.query("commit");
    await client.query("listen nothing");
    await client.query("select 1");
  });
  await client.end();
  await own.stop();
  expect(asked).toEqual(
    new Map([
      ["begin", 1],
      ["twice_v1", 2],
      ["select $1::text as word", 1],
      ["commit", 1],
    ]),
  );
});

describe("round trips to the database", () => {
  it.each(Object.keys(recorded) as (keyof typeof recorded)[])("%s", async (name) => {
    // The first prepares statements and reads what is kept in memory afterwards.
    await requests[name]();
    const asked: Statements[] = [];
    for (let round = 0; round < rounds; round += 1) asked.push(await meter.during(requests[name]));
    const statements = leastOf(asked);
    const count = statements.reduce((sum, [, each]) => sum + each, 0);
    const list = statements.map(([label, each]) => `${each} × ${label}`).join("\n");
    expect(count, `recorded are ${recorded[name]}, these were asked:\n${list}`).toBeLessThanOrEqual(
      recorded[name] * allowedGrowth,
    );
    // Else nothing was counted.
    expect(count).toBeGreaterThan(0);
  });
});
