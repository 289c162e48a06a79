import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createClient, type TreadleClient } from "../support/treadle-client.ts";

type Found = { organization_id: string; plan: string; edition: string; features: { bulk_export: boolean } };
type AuditEvent = { action: string; via: string | null; target: { id: string }; details: { plan?: string } };

let app: TestApp;
let database: TestDatabase;
let folder: TempFolder;
let organizationId: string;
/** The same command in its two ways: over the server's API, and on the database of the machine it runs on. */
let remote: TreadleClient;
let local: TreadleClient;

const stored = async () =>
  (await app.call<Found>("GET", `/v2/organizations/${organizationId}/plan`)).body.plan;
const changes = async () =>
  (await app.call<{ resources: AuditEvent[] }>("GET", "/v2/audit-events?action=organization.plan_changed"))
    .body.resources;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("command-line-plan");
  app = await createTestApp({ edition: "cloud", databaseUrl: database.url });
  const url = await app.listen();
  remote = createClient(folder.path, { TREADLE_URL: url, TREADLE_API_KEY: app.apiKey });
  local = createClient(folder.path, {
    DATABASE_URL: database.url,
    TREADLE_DATA_DIR: join(folder.path, "data"),
    TREADLE_EDITION: "cloud",
  });
  organizationId = (await remote.json<Found>(["plan", "show"])).organization_id;
}, 60_000);
beforeEach(async () => {
  const path = `/v2/organizations/${organizationId}/plan`;
  expect((await app.call("PUT", path, { body: { plan: "free" } })).status).toBe(200);
});
afterAll(async () => {
  await app?.stop();
  await database?.drop();
  await folder?.remove();
});

describe.each([
  ["on a server", () => remote],
  ["on the database", () => local],
])("%s", { timeout: 90_000 }, (_where, client) => {
  test("shows the plan and what it opens", async () => {
    expect(await client().json<Found>(["plan", "show"])).toEqual({
      organization_id: organizationId,
      plan: "free",
      edition: "cloud",
      features: { bulk_export: false },
    });
    expect(await client().run(["plan", "show", "--organization", organizationId])).toMatchObject({
      code: 0,
      stdout: `Organization ${organizationId}: plan free, without bulk exports (edition cloud).\n`,
    });
  });

  test("sets the plan, which counts at once and is in the audit log", async () => {
    const before = (await changes()).length;
    expect(await client().run(["plan", "set", "plus"])).toMatchObject({
      code: 0,
      stdout: `Organization ${organizationId}: plan plus, with bulk exports (edition cloud).\n`,
    });
    expect(await stored()).toBe("plus");
    const recorded = await changes();
    expect(recorded.length).toBe(before + 1);
    expect(recorded[0]).toMatchObject({ target: { id: organizationId }, details: { plan: "plus" } });
  });

  test("refuses a plan there is not and an organization there is not, and changes nothing", async () => {
    const wrong = await client().run(["plan", "set", "gold"]);
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain("Allowed choices are free, plus, enterprise");
    const unknown = await client().run(["plan", "set", "plus", "--organization", randomUUID()]);
    expect(unknown.code).not.toBe(0);
    expect(unknown.stderr).toContain("not found");
    const noId = await client().run(["plan", "show", "--organization", "acme"]);
    expect(noId.code).not.toBe(0);
    expect(await stored()).toBe("free");
  });
});

test("is set by who runs the installation, not by an editor of its workspace", {
  timeout: 90_000,
}, async () => {
  const made = await app.call<{ key: string }>("POST", "/v2/api-keys", {
    body: { name: "editor", role: "editor" },
  });
  const refused = await remote.run(["plan", "set", "plus"], { env: { TREADLE_API_KEY: made.body.key } });
  expect(refused).toMatchObject({ code: 13 });
  expect(await stored()).toBe("free");
});

test("on a database where nothing was ever started, says so", { timeout: 90_000 }, async () => {
  const empty = await createTestDatabase();
  try {
    const exit = await local.run(["plan", "show"], { env: { DATABASE_URL: empty.url } });
    expect(exit.code).not.toBe(0);
    expect(exit.stderr).toContain("never started");
  } finally {
    await empty.drop();
  }
});
