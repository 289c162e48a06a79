import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { createBucket, listKeys } from "../support/exported-files.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { type RoleProcess, RoleProcesses } from "../support/role-processes.ts";
import { useCephRgw } from "../support/shared-ceph.ts";

// Eight servers on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let platform: RoleProcesses;
let git: GitServer;
let first: RoleProcess;
let second: RoleProcess;
const started: Record<string, RoleProcess> = {};

beforeAll(async () => {
  const rgw = await useCephRgw();
  [platform, git] = await Promise.all([RoleProcesses.prepare(rgw), startGitServer()]);
  // The first one prepares the database, for which the others would wait.
  first = await platform.start("api");
  second = await platform.start("api");
});
afterAll(async () => {
  await platform?.stop();
  await git?.stop();
});

/** Started when a test needs it, so that each sees what is missing without it. */
async function need(role: string): Promise<RoleProcess> {
  started[role] ??= await platform.start(role);
  return started[role];
}

test("a run made on one api waits for a worker, is executed there and streamed from another api", async () => {
  const { thread_id } = await first.client.threads.create();
  const input = { messages: [{ role: "user", content: "from afar" }] };
  const { run_id } = await first.client.runs.create(thread_id, "echo", { input, streamMode: ["values"] });
  expect(await second.client.runs.get(thread_id, run_id)).toMatchObject({ status: "pending" });
  const events: string[] = [];
  const joined = (async () => {
    for await (const part of second.client.runs.joinStream(thread_id, run_id, { streamMode: ["values"] })) {
      events.push(part.event);
      if (part.event === "values") expect(JSON.stringify(part.data)).toContain("from afar");
    }
  })();
  const worker = await need("worker");
  await joined;
  expect(events).toContain("values");
  expect(await first.client.runs.get(thread_id, run_id)).toMatchObject({ status: "success" });
  // Its trace was written by the worker and is read at an api.
  const found = await waitUntil(
    async () => {
      const answer = await first.call<{ runs: { name: string }[] }>("POST", "/api/v1/runs/query", {
        trace: run_id,
        limit: 5,
      });
      return answer.status === 200 && answer.body.runs.length > 0 ? answer.body.runs : undefined;
    },
    { what: "the trace of the run", timeoutMs: 20_000, intervalMs: 100 },
  );
  expect(found.length).toBeGreaterThan(0);
  expect((await worker.call("GET", `/threads/${thread_id}`)).status).toBe(421);
});

test("a cancel on one api ends the run on the worker, and the stream of the other api", async () => {
  await need("worker");
  const { thread_id } = await first.client.threads.create();
  const input = { messages: [{ role: "user", content: "Tell me a long story about weaving." }] };
  const { run_id } = await first.client.runs.create(thread_id, "agent", {
    ...{ input, streamMode: ["messages-tuple"] },
    config: { configurable: { token_delay_ms: 1_000 } },
  });
  const stream = second.client.runs.joinStream(thread_id, run_id, { streamMode: ["messages-tuple"] });
  let cancelled = false;
  for await (const { event } of stream) {
    if (!event.startsWith("messages") || cancelled) continue;
    cancelled = true;
    await first.client.runs.cancel(thread_id, run_id, true);
  }
  expect(cancelled).toBe(true);
  expect(await second.client.runs.get(thread_id, run_id)).toMatchObject({ status: "interrupted" });
});

test("a cron that was made on an api fires on the worker", async () => {
  await need("worker");
  const input = { messages: [{ role: "user", content: "tick" }] };
  const cron = await first.client.crons.create("echo", {
    schedule: "* * * * * *",
    input,
    onRunCompleted: "keep",
  });
  const { cron_id } = cron as unknown as { cron_id: string };
  const threads = await waitUntil(
    async () => {
      const found = await second.client.threads.search({ metadata: { cron_id } });
      return found.some(({ status }) => status === "idle") ? found : undefined;
    },
    { what: "a run of the cron", timeoutMs: 30_000, intervalMs: 100 },
  );
  expect(JSON.stringify(threads[0]!.values)).toContain("tick");
  await first.client.crons.delete(cron_id);
});

test("traces sent to an ingest are read at an api, whose change feed says so", async () => {
  const ingest = await need("ingest");
  const changes = second.follow("/v2/events?topics=traces");
  expect((await changes.next()).value).toMatchObject({ event: "ready" });
  const id = randomUUID();
  const start_time = new Date().toISOString();
  const run = {
    id,
    trace_id: id,
    name: "sent to ingest",
    run_type: "chain",
    start_time,
    session_name: "roles",
  };
  const posted = await ingest.call("POST", "/api/v1/runs", { ...run, inputs: { a: 1 } });
  expect(posted.status).toBe(202);
  expect((await changes.next()).value).toMatchObject({ event: "change" });
  await changes.return(undefined);
  const read = await first.call<{ name: string }>("GET", `/api/v1/runs/${id}`);
  expect(read).toMatchObject({ status: 200, body: { name: "sent to ingest" } });
  expect((await ingest.call("GET", `/api/v1/runs/${id}`)).headers.get("x-error-code")).toBe(
    "request.other_role",
  );
});

test("an export made on an api is run by the export process", async () => {
  const bucket = `exports-${randomUUID()}`;
  await createBucket(platform.rgw, bucket);
  const destination = await first.call<{ id: string }>("POST", "/api/v1/bulk-exports/destinations", {
    destination_type: "s3",
    display_name: "lake",
    config: { bucket_name: bucket, prefix: "", endpoint_url: platform.rgw.endpoint },
    credentials: { access_key_id: platform.rgw.accessKey, secret_access_key: platform.rgw.secretKey },
  });
  expect(destination.status).toBe(200);
  const id = randomUUID();
  const start_time = new Date(Date.now() - 60_000).toISOString();
  const run = {
    id,
    trace_id: id,
    name: "to export",
    run_type: "chain",
    start_time,
    session_name: "to export",
  };
  expect((await first.call("POST", "/api/v1/runs", { ...run, inputs: {} })).status).toBe(202);
  const projects = await first.call<{ id: string }[]>("GET", "/api/v1/sessions?name=to%20export");
  const made = await first.call<{ id: string; status: string }>("POST", "/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.body.id,
    session_id: projects.body[0]!.id,
    start_time: new Date(Date.now() - 3_600_000).toISOString(),
    end_time: new Date().toISOString(),
  });
  expect(made.status).toBe(200);
  await need("export");
  await waitUntil(
    async () => {
      const { body } = await second.call<{ status: string }>("GET", `/api/v1/bulk-exports/${made.body.id}`);
      return body.status === "COMPLETED";
    },
    { what: "the export", timeoutMs: 60_000, intervalMs: 200 },
  );
  const keys = await listKeys(platform.rgw, bucket);
  expect(keys.some((key) => key.endsWith(".parquet"))).toBe(true);
});

describe("a deployment", () => {
  test("made on an api is built by the builder, started by the controller and served by the gateway", async () => {
    const [controller, , gateway] = await Promise.all([need("controller"), need("builder"), need("gateway")]);
    const changes = second.follow("/v2/events?topics=deployments");
    expect((await changes.next()).value).toMatchObject({ event: "ready" });
    const repository = await git.createRepository("apart", quickProject("apart"));
    const source_config = { repo_url: repository.url, install_command: quickInstall };
    const made = await deploy(first, gitDeployment("apart", repository.url, { source_config }));
    expect(made.revision).toMatchObject({ status: "DEPLOYED" });
    expect((await changes.next()).value).toMatchObject({ event: "change" });
    await changes.return(undefined);
    const { slug, id } = made.deployment;
    const run = await gateway.call("POST", `/d/${slug}/runs/wait`, { assistant_id: "echo", input: {} });
    expect(run.status).toBe(200);
    expect(JSON.stringify(run.body)).toContain("apart");
    for (const other of [first, controller]) {
      const refused = await other.call<{ detail: string }>("GET", `/d/${slug}/ok`);
      expect(refused.status).toBe(421);
      expect(refused.body.detail).toContain("the role gateway");
    }
    // Its log is written by the controller and followed at an api.
    const lines = second.follow(`/v2/deployments/${id}/logs/stream`);
    const seen = await lines.next();
    expect(seen.value).toMatchObject({ event: "log" });
    await lines.return(undefined);
  });
});

test("every process says what it is for and is ready", async () => {
  for (const [role, each] of [["api", first] as const, ...Object.entries(started)]) {
    expect(await each.call("GET", "/ready")).toMatchObject({
      status: 200,
      body: { ready: true, roles: [role] },
    });
    expect((await each.call("GET", "/health")).status).toBe(200);
    expect((await each.call("GET", "/ok")).status).toBe(200);
    expect((await fetch(`${each.url}/metrics`, { headers: { "x-api-key": "" } })).status).toBe(200);
    const { body } = await each.call<{ metadata: { roles: string[] } }>("GET", "/info");
    expect(body.metadata.roles).toEqual([role]);
  }
});
