import { createHmac, randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../../tests/support/app.ts";
import { waitUntil } from "../../tests/support/components/wait-until.ts";
import { raw } from "../platform/db/raw.ts";
import { enqueue } from "../platform/jobs/job-queue.ts";
import { evaluationJobKind } from "./alerts.ts";

type Alert = {
  id: string;
  state: string;
  last_value: number | null;
  problem: string | null;
  undelivered: { channel: string; target: string; status: string; error: string; at: string }[];
  webhook_secret: string;
};
type Event = {
  id: string;
  kind: string;
  message: string;
  muted: boolean;
  deliveries: { channel: string; target: string; status: string; attempts: number; error: string | null }[];
};
type Posted = { headers: Record<string, unknown>; body: string };

let app: TestApp;
let hook: Server;
let smtp: SMTPServer;
let hookUrl: string;
let projectId: string;
let answers: number[] = [];
const posted: Posted[] = [];
const mails: { to: string[]; text: string }[] = [];

beforeAll(async () => {
  hook = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => {
      posted.push({ headers: request.headers, body });
      response.writeHead(answers.shift() ?? 200).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/a-secret-path`;
  smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onRcptTo: ({ address }, _session, done) =>
      done(
        address.startsWith("nobody")
          ? Object.assign(new Error("no such mailbox"), { responseCode: 550 })
          : null,
      ),
    onData(stream, session, done) {
      let text = "";
      stream.on("data", (part: Buffer) => {
        text += part.toString();
      });
      stream.on("end", () => {
        mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), text });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => {
    smtp.listen(0, "127.0.0.1", () => resolve());
  });
  const { port } = smtp.server.address() as AddressInfo;
  app = await createTestApp({
    mail: { url: `smtp://127.0.0.1:${port}`, from: "Treadle <alerts@example.com>" },
    allowPrivateAddresses: true,
  });
  await app.started();
});
afterAll(async () => {
  await app?.stop();
  hook?.close();
  await new Promise<void>((resolve) => (smtp ? smtp.close(() => resolve()) : resolve()));
});
beforeEach(async () => {
  posted.length = 0;
  mails.length = 0;
  answers = [];
  const made = await app.call<{ id: string }>("POST", "/api/v1/sessions", {
    body: { name: `p-${randomUUID()}` },
  });
  projectId = made.body.id;
});

async function ingest(count: number, { failed = 0, seconds = 1 } = {}): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const id = randomUUID();
    const start = new Date(Date.now() - seconds * 1000 - 1_000);
    const { status } = await app.call("POST", "/api/v1/runs", {
      body: {
        ...{ id, trace_id: id, name: "r", run_type: "chain", session_id: projectId, inputs: {} },
        dotted_order: `${start.toISOString().replace(/[-:.]/g, "").replace("Z", "000Z")}${id}`,
        ...{
          start_time: start.toISOString(),
          end_time: new Date(start.getTime() + seconds * 1000).toISOString(),
        },
        ...(index < failed ? { error: "broken" } : {}),
      },
    });
    expect(status).toBe(202);
  }
}

const create = (body: Record<string, unknown>) =>
  app.call<Alert>("POST", "/v2/alerts", {
    body: { name: "Watch", scope: "project", scope_id: projectId, webhook_url: hookUrl, ...body },
  });
const read = async (id: string) => (await app.call<Alert>("GET", `/v2/alerts/${id}`)).body;
const history = async (id: string) =>
  (await app.call<{ resources: Event[] }>("GET", `/v2/alerts/${id}/history`)).body.resources;

/** As the minute would: the rule's turn has come, and the recurring job runs. */
async function evaluate(id: string): Promise<Alert> {
  const { database } = app;
  await raw`update alert_rules set evaluated_at = null where id = ${id}`.execute(database.sql);
  await enqueue(database.sql, { kind: evaluationJobKind });
  await waitUntil(
    async () => {
      const { rows } =
        await raw`select 1 from alert_rules where id = ${id} and evaluated_at is not null`.execute(
          database.sql,
        );
      return rows.length > 0;
    },
    { what: "the evaluation", timeoutMs: 20_000 },
  );
  return read(id);
}
const settled = (id: string, count: number) =>
  waitUntil(
    async () => {
      const events = await history(id);
      const all = events.flatMap(({ deliveries }) => deliveries);
      return all.length === count && all.every(({ status }) => status !== "pending") ? events : undefined;
    },
    { what: "the deliveries", timeoutMs: 30_000 },
  );

describe("an error rate", () => {
  it("fires once to webhook and mail, signed, and resolves once", async () => {
    const made = await create({
      kind: "error_rate",
      threshold: 50,
      window_minutes: 60,
      emails: ["on-call@example.com"],
    });
    expect(made.status).toBe(201);
    const { id, webhook_secret } = made.body;
    await ingest(2, { failed: 2 });
    expect((await evaluate(id)).state).toBe("firing");
    expect((await evaluate(id)).state).toBe("firing");
    const [event, ...others] = await settled(id, 2);
    expect(others).toEqual([]);
    expect(event!.message).toContain("100 % of the runs failed (threshold 50 %)");
    expect(posted).toHaveLength(1);
    const { headers, body } = posted[0]!;
    const [, time, mac] = /^t=(\d+),v1=(\w+)$/.exec(String(headers["x-treadle-signature"]))!;
    expect(createHmac("sha256", webhook_secret).update(`${time}.${body}`).digest("hex")).toBe(mac);
    expect(headers["x-treadle-event-id"]).toBe(event!.id);
    expect(JSON.parse(body)).toMatchObject({
      kind: "firing",
      event_id: event!.id,
      alert: { id },
      value: 100,
    });
    expect(mails).toHaveLength(1);
    expect(mails[0]!.to).toEqual(["on-call@example.com"]);
    expect(mails[0]!.text).toContain("Subject: [Treadle] Firing: Watch");

    await ingest(3);
    expect(await evaluate(id)).toMatchObject({ state: "resolved", last_value: 40 });
    expect((await settled(id, 4)).map(({ kind }) => kind)).toEqual(["resolved", "firing"]);
    expect((await evaluate(id)).state).toBe("resolved");
    expect(await history(id)).toHaveLength(2);
  });

  it("is recorded and sent to nobody while it is muted", async () => {
    const { body } = await create({ kind: "error_rate", threshold: 50 });
    const muted_until = new Date(Date.now() + 3_600_000).toISOString();
    expect((await app.call("PATCH", `/v2/alerts/${body.id}`, { body: { muted_until } })).status).toBe(200);
    await ingest(1, { failed: 1 });
    expect((await evaluate(body.id)).state).toBe("firing");
    expect(await history(body.id)).toMatchObject([{ kind: "firing", muted: true, deliveries: [] }]);
    expect(posted).toEqual([]);
  });
});

describe("the other kinds", () => {
  it("latency, of the runs that ended", async () => {
    const { body } = await create({ kind: "latency_p95", threshold: 2 });
    await ingest(2, { seconds: 1 });
    expect(await evaluate(body.id)).toMatchObject({ state: "ok", last_value: 1 });
    await ingest(4, { seconds: 5 });
    expect((await evaluate(body.id)).state).toBe("firing");
  });

  it("missing traffic, after a whole window, until a run begins", async () => {
    const { body } = await create({ kind: "no_traffic", window_minutes: 5 });
    expect((await evaluate(body.id)).state).toBe("ok");
    await raw`update alert_rules set created_at = now() - interval '10 minutes' where id = ${body.id}`.execute(
      app.database.sql,
    );
    expect((await evaluate(body.id)).state).toBe("firing");
    await ingest(1);
    expect((await evaluate(body.id)).state).toBe("resolved");
  });

  it("a failed export, in the workspace and in its project alone", async () => {
    const { body } = await create({ kind: "export_failed" });
    const { body: all } = await create({ kind: "export_failed", scope: "workspace", scope_id: null });
    const { body: other } = await app.call<{ id: string }>("POST", "/api/v1/sessions", {
      body: { name: `other-${randomUUID()}` },
    });
    const fail = async (session: string) => {
      const destination = randomUUID();
      await raw`insert into bulk_export_destinations (id, workspace_id, destination_type, display_name, config, created_at, updated_at)
        values (${destination}, ${app.workspaceId}, 's3', 'x', '{}', now(), now())`.execute(app.database.sql);
      await raw`insert into bulk_exports (id, workspace_id, bulk_export_destination_id, session_id, start_time, end_time,
          format, format_version, compression, status, finished_at, created_at, updated_at)
        values (${randomUUID()}, ${app.workspaceId}, ${destination}, ${session}, now() - interval '1 day', now(),
          'Parquet', 'v1', 'zstandard', 'FAILED', now(), now(), now())`.execute(app.database.sql);
    };
    await fail(other.id);
    expect((await evaluate(all.id)).state).toBe("firing");
    expect((await evaluate(body.id)).state).toBe("ok");
    await fail(projectId);
    expect((await evaluate(body.id)).state).toBe("firing");
  });

  it("names a problem when what it watches is deleted, and stays as it is", async () => {
    const { body } = await create({ kind: "error_rate", threshold: 1 });
    expect((await app.call("DELETE", `/api/v1/sessions/${projectId}`)).status).toBeLessThan(300);
    expect(await evaluate(body.id)).toMatchObject({
      state: "ok",
      problem: "The project it watches is deleted.",
    });
  });
});

describe("deliveries", () => {
  it("are tried again when the receiver is broken, and not when it refuses", async () => {
    const { body } = await create({ kind: "error_rate", threshold: 1, emails: ["nobody@example.com"] });
    answers = [503];
    await ingest(1, { failed: 1 });
    await evaluate(body.id);
    const [event] = await settled(body.id, 2);
    expect(posted.map(({ headers }) => headers["x-treadle-event-id"])).toEqual([event!.id, event!.id]);
    expect(event!.deliveries).toMatchObject([
      { channel: "email", status: "failed", attempts: 1, error: expect.stringContaining("no such mailbox") },
      { channel: "webhook", status: "sent", attempts: 2 },
    ]);
  });

  it("a test is sent at once and answers what became of it, not too often", async () => {
    const { body } = await create({ kind: "error_rate", threshold: 1, emails: ["on-call@example.com"] });
    answers = [404];
    const tested = await app.call<Event>("POST", `/v2/alerts/${body.id}/test`);
    expect(tested.status).toBe(200);
    expect(tested.body).toMatchObject({
      kind: "test",
      deliveries: [
        { channel: "email", status: "sent" },
        { channel: "webhook", status: "failed", error: expect.stringContaining("404") },
      ],
    });
    expect((await app.call("POST", `/v2/alerts/${body.id}/test`)).status).toBe(429);
  });

  it("an alert names whom its newest notification did not reach, until one arrives or they are removed", async () => {
    const { body } = await create({ kind: "error_rate", threshold: 1, emails: ["nobody@example.com"] });
    expect(body.undelivered).toEqual([]);
    // Tried again soon: until then it is pending, with the reason.
    answers = Array.from({ length: 12 }, () => 503);
    await ingest(1, { failed: 1 });
    await evaluate(body.id);
    const missed = await waitUntil(
      async () => {
        const { undelivered } = await read(body.id);
        return undelivered.length === 2 ? undelivered : undefined;
      },
      { what: "both receivers to be named", timeoutMs: 30_000 },
    );
    const [event] = await history(body.id);
    expect(missed).toEqual([
      {
        ...{ channel: "email", target: "nobody@example.com", status: "failed", at: expect.any(String) },
        error: expect.stringContaining("no such mailbox"),
      },
      {
        ...{ channel: "webhook", target: new URL(hookUrl).host, status: "pending", at: expect.any(String) },
        error: expect.stringContaining("503"),
      },
    ]);
    expect(event!.kind).toBe("firing");
    const { body: listed } = await app.call<{ resources: Alert[] }>("GET", "/v2/alerts");
    expect(listed.resources.find(({ id }) => id === body.id)!.undelivered).toHaveLength(2);

    const changed = await app.call<Alert>("PATCH", `/v2/alerts/${body.id}`, { body: { emails: [] } });
    expect(changed.body.undelivered.map(({ channel }) => channel)).toEqual(["webhook"]);
    answers = [];
    await app.call("POST", `/v2/alerts/${body.id}/test`);
    expect((await read(body.id)).undelivered).toEqual([]);
  });
});

describe("what is refused or hidden", () => {
  it("the URL and the secret of a webhook are sealed and never returned", async () => {
    const { body } = await create({ kind: "error_rate", threshold: 1 });
    const shown = JSON.stringify([await read(body.id), (await app.call("GET", "/v2/alerts")).body]);
    expect(shown).not.toContain("a-secret-path");
    expect(shown).not.toContain(body.webhook_secret);
    const { rows } = await raw<{
      text: string;
    }>`select a::text as text from alert_rules a where id = ${body.id}`.execute(app.database.sql);
    expect(rows[0]!.text).not.toContain("a-secret-path");
  });

  it("a new URL keeps the secret that receivers know; a secret that had to be made is shown once", async () => {
    const made = await create({ kind: "error_rate", threshold: 1 });
    const change = (id: string, body: object) =>
      app.call<Alert & { webhook_secret: string | null }>("PATCH", `/v2/alerts/${id}`, { body });
    const moved = await change(made.body.id, { webhook_url: `${hookUrl}/moved` });
    expect(moved).toMatchObject({ status: 200, body: { webhook_secret: null } });
    await app.call("POST", `/v2/alerts/${made.body.id}/test`);
    const signed = posted.at(-1)!;
    const [, time, mac] = /^t=(\d+),v1=(\w+)$/.exec(String(signed.headers["x-treadle-signature"]))!;
    const signer = createHmac("sha256", made.body.webhook_secret).update(`${time}.${signed.body}`);
    expect(mac).toBe(signer.digest("hex"));
    const mailed = await create({
      ...{ kind: "error_rate", threshold: 1, webhook_url: null, emails: ["a@example.com"] },
    });
    const hooked = await change(mailed.body.id, { webhook_url: hookUrl });
    expect(hooked.body.webhook_secret).toMatch(/^\S{16,}$/);
    expect((await change(mailed.body.id, { name: "again" })).body.webhook_secret).toBeNull();
  });

  it("400, 404 and 422 name what to change", async () => {
    expect((await create({ kind: "error_rate" })).status).toBe(422);
    expect((await create({ kind: "error_rate", threshold: 1, webhook_url: null })).status).toBe(400);
    expect((await create({ kind: "error_rate", threshold: 1, scope_id: randomUUID() })).status).toBe(404);
    expect(
      (await create({ kind: "error_rate", threshold: 1, webhook_url: "http://169.254.169.254/" })).status,
    ).toBe(422);
    expect((await create({ kind: "error_rate", threshold: 1, emails: ["nobody"] })).status).toBe(422);
    expect((await app.call("GET", `/v2/alerts/${randomUUID()}`)).status).toBe(404);
  });
});
