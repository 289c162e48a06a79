import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";
import { plans } from "../identity/workspace.ts";

type Info = { organization_id: string; plan: string; edition: string; features: { bulk_export: boolean } };

let cloud: TestApp;
let organizationId: string;

const inFirst = (test: TestApp) => ({ "x-tenant-id": test.workspaceId });
const infoOf = async (test: TestApp) =>
  (await test.call<Info>("GET", `/v2/workspaces/${test.workspaceId}/info`, { headers: inFirst(test) })).body;
const set = (plan: string, headers: Record<string, string> = {}) =>
  cloud.call<Info>("PUT", `/v2/organizations/${organizationId}/plan`, {
    body: { plan },
    headers: { ...inFirst(cloud), ...headers },
  });

const destination = {
  display_name: "bucket",
  config: { bucket_name: "bucket", prefix: "p", endpoint_url: "http://127.0.0.1:9" },
  credentials: { access_key_id: "a", secret_access_key: "b" },
};
const exportBody = () => ({
  bulk_export_destination_id: randomUUID(),
  session_id: randomUUID(),
  start_time: "2026-01-01T00:00:00Z",
  end_time: "2026-01-02T00:00:00Z",
});
/** Both doors of bulk export: a destination and an export. */
const doors = async (test: TestApp) => [
  (
    await test.call("POST", "/api/v1/bulk-exports/destinations", {
      body: destination,
      headers: inFirst(test),
    })
  ).status,
  (await test.call("POST", "/api/v1/bulk-exports", { body: exportBody(), headers: inFirst(test) })).status,
];

/** A key for somebody of this role, in this workspace. */
async function keyFor(role: string, tenant = cloud.workspaceId, more: Record<string, unknown> = {}) {
  const headers = { "x-tenant-id": tenant };
  const email = `${randomUUID()}@example.com`;
  const member = await cloud.call<{ user_id: string }>("POST", "/v2/members", {
    body: { email, role },
    headers,
  });
  expect(member.status).toBe(201);
  const body = { name: email, role, user_id: member.body.user_id, ...more };
  const made = await cloud.call<{ key: string; id: string }>("POST", "/v2/api-keys", { body, headers });
  expect(made.status).toBe(201);
  return { "x-api-key": made.body.key, "x-tenant-id": tenant };
}

beforeAll(async () => {
  cloud = await createTestApp({ edition: "cloud" });
  organizationId = (await infoOf(cloud)).organization_id;
});
beforeEach(async () => {
  expect((await set("free")).status).toBe(200);
});
afterAll(() => cloud?.stop());

describe("plans in edition cloud", () => {
  it("free: no bulk exports, 403 at both doors, and the info says so", async () => {
    expect(await doors(cloud)).toEqual([403, 403]);
    expect(await infoOf(cloud)).toMatchObject({
      plan: "free",
      edition: "cloud",
      features: { bulk_export: false },
    });
  });

  it.each(["plus", "enterprise"])("%s: both doors are open from the next request on", async (plan) => {
    expect((await set(plan)).body).toMatchObject({ plan, features: { bulk_export: true } });
    // The storage is not there, and neither is the destination: that is the answer now.
    expect(await doors(cloud)).toEqual([400, 404]);
    expect(await infoOf(cloud)).toMatchObject({ plan, features: { bulk_export: true } });
    expect((await set("free")).status).toBe(200);
    expect(await doors(cloud)).toEqual([403, 403]);
  });

  it("what is there can be read on any plan", async () => {
    for (const path of ["/api/v1/bulk-exports/destinations", "/api/v1/bulk-exports"])
      expect((await cloud.call("GET", path, { headers: inFirst(cloud) })).status).toBe(200);
  });
});

describe("a self-hosted installation", () => {
  it("has everything on every plan", async () => {
    const own = await createTestApp();
    try {
      const path = `/v2/organizations/${(await infoOf(own)).organization_id}/plan`;
      for (const plan of plans) {
        expect((await own.call("PUT", path, { body: { plan } })).status).toBe(200);
        expect(await doors(own)).toEqual([400, 404]);
      }
    } finally {
      await own.stop();
    }
  });
});

describe("who may set a plan", () => {
  it("403: editors, other workspaces' administrators, services, and keys made by somebody else", async () => {
    const second = await cloud.call<{ id: string }>("POST", "/v2/workspaces", {
      body: { name: "Second" },
      headers: { "x-tenant-id": cloud.workspaceId },
    });
    const service = await cloud.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "ci", service: true, scopes: ["deploy"] },
      headers: { "x-tenant-id": cloud.workspaceId },
    });
    expect(service.status).toBe(201);
    const callers = {
      editor: await keyFor("editor"),
      "administrator of another workspace": await keyFor("admin", second.body.id),
      "the installation's administrator in another workspace": { "x-tenant-id": second.body.id },
      "a key another administrator made": await keyFor("admin"),
      service: { "x-api-key": service.body.key, "x-tenant-id": cloud.workspaceId },
    };
    for (const [who, headers] of Object.entries(callers))
      expect([who, (await set("plus", headers)).status]).toEqual([who, 403]);
    expect(await infoOf(cloud)).toMatchObject({ plan: "free" });
    const own = await cloud.call("GET", `/v2/organizations/${organizationId}/plan`, {
      headers: callers.editor,
    });
    expect(own.status).toBe(200);
  });

  it("404: an organization that is not there; 422: a plan that is none", async () => {
    const unknown = `/v2/organizations/${randomUUID()}/plan`;
    const headers = { "x-tenant-id": cloud.workspaceId };
    expect((await cloud.call("PUT", unknown, { body: { plan: "plus" }, headers })).status).toBe(404);
    expect((await cloud.call("GET", unknown, { headers })).status).toBe(404);
    expect((await set("gold", headers)).status).toBe(422);
  });

  it("each change, and each refusal, is in the audit log", async () => {
    await set("enterprise");
    type Page = { resources?: unknown[]; events?: unknown[]; items?: unknown[] };
    const log = await cloud.call<Page>("GET", "/v2/audit-events?action=organization.plan_changed", {
      headers: { "x-tenant-id": cloud.workspaceId },
    });
    expect(log.status).toBe(200);
    expect(JSON.stringify(log.body)).toContain('"plan":"enterprise"');
  });
});
