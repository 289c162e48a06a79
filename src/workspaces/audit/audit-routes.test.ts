import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { callApp, createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";

let testDatabase: TestDatabase;
let app: WorkspacesApp;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(async () => {
  app = await createWorkspacesApp({ testDatabase });
});
afterEach(() => app.stop());
afterAll(() => testDatabase.drop());

type Event = {
  id: string;
  action: string;
  outcome: string;
  error_code: string | null;
  workspace_id: string | null;
  actor: {
    kind: string;
    user_id: string | null;
    api_key_id: string | null;
    api_key_name: string | null;
    email: string | null;
  };
  target: { kind: string; id: string | null; name: string | null } | null;
  details: Record<string, unknown>;
};

async function events(query = "", call: { key?: string; tenant?: string } = {}): Promise<Event[]> {
  const answer = await app.call("GET", `/v2/audit-events?${query}`, call);
  expect(answer).toMatchObject({ status: 200 });
  return (answer.body as { resources: Event[] }).resources;
}

async function createKey(body: Record<string, unknown> = {}) {
  const answer = await app.call("POST", "/v2/api-keys", { body: { name: "A key", ...body } });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body as { id: string; key: string };
}

/** Refusals are written later: these are when `stop` has ended. */
async function written(): Promise<void> {
  await app.workspaces.audit.stop();
}

describe("what is done", () => {
  test("is there as soon as the answer is: who, what, to what, with which key, and no secret", async () => {
    const created = await createKey({ name: "For the build" });
    const [event, ...others] = await events(`target_id=${created.id}`);
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      action: "api_key.created",
      outcome: "done",
      status: 201,
      workspace_id: app.workspaceId,
      actor: { kind: "person", user_id: app.userId, api_key_name: "Generated at start" },
      target: { kind: "api_key", id: created.id, name: "For the build" },
      details: { role: "editor" },
    });
    const { rows } = await raw<{ text: string }>`
      select string_agg(e::text, ' ') as text from audit_events e`.execute(app.database.sql);
    expect(rows[0]!.text).not.toContain(created.key);
    expect(rows[0]!.text).not.toContain(app.apiKey);
  });

  test("a sign-in names the person, a refused one is shown to those who run the server", async () => {
    const headers = { origin: "http://127.0.0.1", "sec-fetch-site": "same-origin", "x-treadle-console": "1" };
    const body = { api_key: app.apiKey };
    expect(await app.call("POST", "/v2/auth/sign-in/key", { body, headers })).toMatchObject({ status: 201 });
    const wrong = { api_key: "tk_this_is_nobodys_key_at_all" };
    expect(await app.call("POST", "/v2/auth/sign-in/key", { body: wrong, headers })).toMatchObject({
      status: 401,
    });
    await written();
    const [refused, signedIn] = await events("action=session.signed_in&limit=2");
    expect(signedIn).toMatchObject({
      outcome: "done",
      actor: { kind: "person", user_id: app.userId },
      details: { method: "key" },
    });
    expect(refused).toMatchObject({ outcome: "refused", workspace_id: null, actor: { kind: "anonymous" } });
  });
});

describe("scope", () => {
  test("another workspace's events never show, nor does what belongs to none", async () => {
    const answer = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    const second = (answer.body as { id: string }).id;
    await app.call("GET", "/v2/members", { key: "tk_nobodys_key_nobodys_key" });
    await app.call("POST", "/v2/api-keys", { tenant: second, body: { name: "Theirs" } });
    await written();
    const theirs = await events("", { tenant: second });
    expect(theirs.map(({ action }) => action)).toEqual(["api_key.created"]);
    const ours = await events("limit=200");
    expect(ours.map(({ workspace_id }) => workspace_id)).not.toContain(second);
    expect(ours.map(({ workspace_id }) => workspace_id)).toContain(null);
  });

  test("admins alone read it", async () => {
    const { key } = await createKey({ role: "editor" });
    expect(await app.call("GET", "/v2/audit-events", { key })).toMatchObject({ status: 403 });
    expect(await app.call("GET", "/v2/audit-events/export", { key })).toMatchObject({ status: 403 });
    await written();
    const refused = await events("outcome=refused&limit=2");
    expect(refused).toMatchObject([
      {
        action: "request.refused",
        error_code: "request.role_too_low",
        workspace_id: app.workspaceId,
        actor: { user_id: app.userId, api_key_name: "A key" },
        target: { kind: "path", id: "GET /v2/audit-events/export" },
      },
      { target: { kind: "path", id: "GET /v2/audit-events" } },
    ]);
  });
});

describe("a workspace that is not theirs", () => {
  test("a refusal names who asked for which, in their own log and not in the other's", async () => {
    const answer = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    const second = (answer.body as { id: string }).id;
    const { id, key } = await createKey({ name: "Of the first" });
    const refused = await app.call("GET", "/v2/members", { key, tenant: second });
    expect(refused).toMatchObject({ status: 403 });
    await written();
    expect(await events("outcome=refused&limit=1")).toMatchObject([
      {
        action: "request.refused",
        error_code: "workspace.forbidden",
        workspace_id: app.workspaceId,
        actor: { kind: "person", user_id: app.userId, api_key_id: id, api_key_name: "Of the first" },
        target: { kind: "path", id: "GET /v2/members" },
        details: { asked_workspace: second },
      },
    ]);
    expect(await events("outcome=refused", { tenant: second })).toEqual([]);
  });
});

test("503: what cannot be recorded is not answered as done", async () => {
  await raw`alter table audit_events rename to audit_events_away`.execute(app.database.sql);
  try {
    const answer = await app.call("POST", "/v2/workspaces", { body: { name: "Untold" } });
    expect(answer).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining("audit log could not be written") },
    });
    expect(answer.headers.get("x-error-code")).toBe("audit.not_recorded");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    // Requests that only read still work.
    expect(await app.call("GET", "/v2/workspaces")).toMatchObject({ status: 200 });
  } finally {
    await raw`alter table audit_events_away rename to audit_events`.execute(app.database.sql);
  }
  expect(await app.call("POST", "/v2/workspaces", { body: { name: "Told" } })).toMatchObject({ status: 201 });
});

describe("pages and export", () => {
  test("cursors lead through all of it once, and the export has the same lines", async () => {
    for (let index = 0; index < 5; index++) await createKey({ name: `Key ${index}` });
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const next: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = await app.call("GET", `/v2/audit-events?limit=2&action=api_key.created${next}`);
      const body = page.body as { resources: Event[]; next_cursor: string | null };
      seen.push(...body.resources.map(({ id }) => id));
      cursor = body.next_cursor;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual((await events("action=api_key.created&limit=200")).map(({ id }) => id));
    const request = new Request("http://127.0.0.1/v2/audit-events/export?action=api_key.created", {
      headers: { "x-api-key": app.apiKey, "x-tenant-id": app.workspaceId },
    });
    const exported = await app.fetch(request);
    expect(exported.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = (await exported.text()).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as Event).id)).toEqual(seen);
    expect(await events("action=audit_events.exported&limit=1")).toHaveLength(1);
  });

  test("a cursor of another kind is refused", async () => {
    expect(await app.call("GET", "/v2/audit-events?cursor=nonsense")).toMatchObject({ status: 422 });
  });
});

describe("append-only", () => {
  test("rows are not changed, deleted or truncated, not even old ones", async () => {
    await createKey();
    const { sql } = app.database;
    const refused = /append-only/;
    await expect(raw`update audit_events set action = 'member.added'`.execute(sql)).rejects.toThrow(refused);
    await expect(raw`delete from audit_events`.execute(sql)).rejects.toThrow(refused);
    await expect(raw`truncate audit_events`.execute(sql)).rejects.toThrow(refused);
    const young = app.database.transaction(async (tx) => {
      await raw`select set_config('treadle.audit_retention', 'on', true)`.execute(tx);
      await raw`delete from audit_events`.execute(tx);
    });
    await expect(young).rejects.toThrow(refused);
  });

  test("retention deletes what is old, and says so", async () => {
    const id = randomUUID();
    await raw`insert into audit_events (id, workspace_id, at, action, outcome, actor_kind)
      values (${id}, ${app.workspaceId}, now() - interval '400 days', 'member.added', 'done', 'person')`.execute(
      app.database.sql,
    );
    const kept = await createKey();
    expect(await app.workspaces.audit.prune(AbortSignal.timeout(60_000))).toBe(1);
    expect((await events("limit=200")).map((event) => event.id)).not.toContain(id);
    expect(await events(`target_id=${kept.id}`)).toHaveLength(1);
    const [pruned] = await events("action=audit_events.pruned&limit=1");
    expect(pruned).toMatchObject({ actor: { kind: "system" }, details: { count: 1 } });
    const kinds = app.workspaces.recurringJobs.map(({ kind }) => kind);
    expect(kinds).toContain("workspaces.prune_audit_events");
  });
});

test("a flood of refusals is a few rows and a count", async () => {
  const before = await count();
  for (let turn = 0; turn < 200; turn++) {
    await app.call("GET", "/v2/members", { key: "tk_flood_flood_flood_flood" });
  }
  await written();
  expect((await count()) - before).toBe(6);
  const [counted] = await events("action=request.refused&limit=1");
  expect(counted).toMatchObject({ details: { more: 195 } });
});

test("the file has every event as a line and is for its owner alone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "audit-"));
  const file = join(folder, "audit.jsonl");
  const other = app.another({ audit: { retentionDays: 0, file } });
  await other.workspaces.bootstrap({});
  const call = { key: app.apiKey, tenant: app.workspaceId, body: { name: "In the file" } };
  expect(await callApp(other.fetch, "POST", "/v2/workspaces", call)).toMatchObject({ status: 201 });
  const [line] = (await readFile(file, "utf8")).trimEnd().split("\n");
  expect(JSON.parse(line!)).toMatchObject({ action: "workspace.created", target_name: "In the file" });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await other.workspaces.audit.prune(AbortSignal.timeout(60_000))).toBe(0);
  await rm(folder, { recursive: true });
});

async function count(): Promise<number> {
  const { rows } = await raw<{ n: number }>`select count(*)::int as n from audit_events`.execute(
    app.database.sql,
  );
  return rows[0]!.n;
}
