import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type HttpListener, startHttpListener } from "../../../tests/support/components/http-listener.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { newId } from "../../platform/ids.ts";
import type { Job } from "../../platform/jobs/job.ts";
import { getJob } from "../../platform/jobs/job-queue.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import { createLogger } from "../../platform/logger.ts";
import { NetworkGuard } from "../../platform/network/network-guard.ts";
import type { Run, RunStatus } from "../runs/run.ts";
import { RunWebhooks } from "./run-webhooks.ts";
import { defaultWebhookConfig } from "./webhook-config.ts";

let database: TestDatabase;
let receiver: HttpListener;
let webhooks: RunWebhooks;
let answer = 200;
const received: Record<string, unknown>[] = [];

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 4 });
  receiver = await startHttpListener(() => (request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    request.on("end", () => {
      received.push(JSON.parse(text));
      response.writeHead(answer).end();
    });
  });
  webhooks = new RunWebhooks({
    database: database.database,
    clock: systemClock,
    logger: createLogger({ level: "silent" }),
    network: new NetworkGuard({ allowPrivateAddresses: true }),
    config: defaultWebhookConfig,
    secret: undefined,
  });
});

beforeEach(() => {
  received.length = 0;
  answer = 200;
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
});

/** A run as the worker holds it, with its rows. */
async function makeRun(options: { temporary?: boolean } = {}): Promise<Run> {
  const now = new Date();
  const run: Run = {
    run_id: newId(),
    thread_id: newId(),
    workspace_id: newId(),
    assistant_id: newId(),
    graph_id: "echo",
    status: "running",
    multitask_strategy: "enqueue",
    metadata: {},
    kwargs: {
      config: { configurable: { langgraph_auth_user: { identity: "ada" } } },
      stream_mode: ["values"],
      webhook: `${receiver.origin}/hook`,
      temporary: options.temporary ?? false,
      subgraphs: false,
      resumable: false,
      durability: "async",
    },
    temporary: options.temporary ?? false,
    attempt: 1,
    cancel_action: null,
    error: null,
    created_at: now,
    updated_at: now,
    started_at: now,
    ended_at: null,
  } as Run;
  const { sql } = database.database;
  await raw`insert into threads (thread_id, workspace_id, values_json)
    values (${run.thread_id}, ${run.workspace_id}, '{"now":"of the thread"}')`.execute(sql);
  await raw`insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy,
      kwargs_json, temporary, attempt, started_at)
    values (${run.run_id}, ${run.thread_id}, ${run.workspace_id}, ${run.assistant_id}, 'echo', 'running', 'enqueue',
      ${JSON.stringify(run.kwargs)}, ${run.temporary}, 1, now())`.execute(sql);
  return run;
}

const endOf = (values: unknown) => ({
  outcome: {
    status: "success",
    threadStatus: "idle",
    error: null,
    valuesJson: JSON.stringify(values),
    interruptsJson: "{}",
  } as const,
  resultJson: JSON.stringify(values),
});

async function setStatus(run: Run, status: RunStatus, attempt: number): Promise<void> {
  await raw`update runs set status = ${status}, attempt = ${attempt}, ended_at = now()
    where run_id = ${run.run_id}`.execute(database.database.sql);
}

async function jobsOf(run: Run): Promise<Job[]> {
  const { sql } = database.database;
  const rows = await sql.selectFrom("jobs").select("id").where("idempotency_key", "=", run.run_id).execute();
  return Promise.all(rows.map((row) => getJob(sql, row.id)));
}

async function deliver(job: Job): Promise<void> {
  const context = { job, attempt: 1, signal: AbortSignal.timeout(10_000) };
  await webhooks.deliver(context as unknown as JobContext);
}

test("waits for a run whose process died before its end was written, and tells of the attempt that ended", async () => {
  const run = await makeRun();
  await webhooks.announce(run, endOf({ from: "attempt 1" }));
  const [early] = await jobsOf(run);
  await expect(deliver(early!)).rejects.toMatchObject({ code: "webhook.run_not_over", retryable: true });
  await webhooks.announce({ ...run, attempt: 2 }, endOf({ from: "attempt 2" }));
  const jobs = await jobsOf(run);
  expect(jobs).toHaveLength(1);
  await setStatus(run, "success", 2);
  await deliver(jobs[0]!);
  expect(received).toEqual([expect.objectContaining({ values: { from: "attempt 2" }, status: "success" })]);
});

test("a job that was claimed with the first attempt's result tells what the rows say", async () => {
  const run = await makeRun();
  await webhooks.announce(run, endOf({ from: "attempt 1" }));
  const [stale] = await jobsOf(run);
  await setStatus(run, "success", 2);
  await deliver(stale!);
  expect(received).toEqual([expect.objectContaining({ values: { now: "of the thread" } })]);
});

test("a stateless run is sent from what was kept, also by a job claimed too early", async () => {
  const run = await makeRun({ temporary: true });
  await webhooks.announce(run, endOf({ text: "\u0000 and \ud800" }));
  const [stale] = await jobsOf(run);
  await webhooks.announce({ ...run, attempt: 2 }, endOf({ text: "later" }));
  await raw`delete from threads where thread_id = ${run.thread_id}`.execute(database.database.sql);
  await deliver(stale!);
  expect(received).toEqual([expect.objectContaining({ values: { text: "later" } })]);
});

test("a run that was deleted meanwhile is sent to nobody", async () => {
  const run = await makeRun();
  await webhooks.announce(run, endOf({}));
  const [job] = await jobsOf(run);
  await raw`delete from runs where run_id = ${run.run_id}`.execute(database.database.sql);
  await deliver(job!);
  expect(received).toEqual([]);
});

test("who the caller was is not sent", async () => {
  const run = await makeRun();
  await webhooks.announce(run, endOf({}));
  await setStatus(run, "success", 1);
  const [job] = await jobsOf(run);
  await deliver(job!);
  expect(JSON.stringify(received)).not.toContain("langgraph_auth");
});

test.each([
  [500, true],
  [429, true],
  [302, false],
  [404, false],
])("an answer of %i is tried again: %j", async (status, retryable) => {
  answer = status;
  const run = await makeRun();
  await webhooks.announce(run, endOf({}));
  await setStatus(run, "success", 1);
  const [job] = await jobsOf(run);
  await expect(deliver(job!)).rejects.toMatchObject({ code: "webhook.refused", retryable });
});

test("a run without a webhook leaves no job", async () => {
  const run = await makeRun();
  await webhooks.announce({ ...run, kwargs: { ...run.kwargs, webhook: null } }, endOf({}));
  expect(await jobsOf(run)).toEqual([]);
});
