import { randomBytes, randomUUID } from "node:crypto";
import { raw } from "../../src/platform/db/raw.ts";
import type { TestApp } from "./app.ts";
import { createTenantResources, type TenantCall, type TenantIds } from "./tenant-resources.ts";
import { createRowReader, type RowReader } from "./tenant-rows.ts";

/** An admin's key of the workspace, and the cookie of its member's session. */
type Credentials = { key: string; cookie: string };

export type Tenants = {
  mine: TenantIds & Credentials;
  theirs: TenantIds & Credentials;
  /** All rows of the other workspace. */
  theirRows: RowReader;
};

/** Two workspaces of one person, so that nothing but the workspace stands between them; each has a member of its own. */
export async function createTenants(app: TestApp): Promise<Tenants> {
  const { rows } = await raw<{ id: string }>`select id from organizations`.execute(app.database.sql);
  const mine = await createTenant(app, "mine", rows[0]!.id);
  // Workspaces are made within one organization, so another one is put beside it.
  const other = randomUUID();
  await raw`insert into organizations (id, name) values (${other}, 'Others')`.execute(app.database.sql);
  const theirs = await createTenant(app, "theirs", other);
  const ids = Object.entries(theirs)
    .filter(([name]) => !["slug", "repositoryUrl", "attachmentName", "key", "cookie"].includes(name))
    .map(([, id]) => id);
  return { mine, theirs, theirRows: await createRowReader(app.database, ids) };
}

async function createTenant(
  app: TestApp,
  name: string,
  organizationId: string,
): Promise<TenantIds & Credentials> {
  const mark = `${name}-${randomBytes(6).toString("hex")}`;
  const as = (workspaceId: string, key = app.apiKey): TenantCall =>
    async function call<Body>(method: string, path: string, body?: unknown, headers = {}) {
      const answer = await app.call<Body>(method, path, {
        ...(body === undefined ? {} : typeof body === "string" ? { text: body } : { body }),
        headers: { "x-api-key": key, "x-tenant-id": workspaceId, ...headers },
      });
      if (answer.status >= 300) {
        throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      }
      return answer.body;
    };
  const { id: workspaceId } = await as(app.workspaceId)<{ id: string }>("POST", "/v2/workspaces", {
    name: mark,
  });
  const first = as(workspaceId);
  const member = await first<{ user_id: string }>("POST", "/v2/members", { email: `${mark}@example.com` });
  const theirKey = await first<{ id: string; key: string }>("POST", "/v2/api-keys", {
    name: mark,
    role: "viewer",
    user_id: member.user_id,
  });
  const signedIn = await app.call<{ id: string }>("POST", "/v2/auth/sign-in/key", {
    body: { api_key: theirKey.key },
    headers: { "x-api-key": "", origin: "http://127.0.0.1", "x-treadle-console": "1" },
  });
  if (signedIn.status !== 201) throw new Error(`signing in answered ${signedIn.status}`);
  const cookie = signedIn.headers.getSetCookie()[0]!.split(";")[0]!;
  const admin = await first<{ id: string; key: string }>("POST", "/v2/api-keys", {
    name: mark,
    role: "admin",
    // Some routes are only for keys that name the scope.
    scopes: ["admin", "listener"],
  });
  const tenant = {
    workspaceId,
    organizationId,
    keyId: theirKey.id,
    userId: member.user_id,
    sessionId: signedIn.body.id,
    mark,
  };
  const resources = await createTenantResources(as(workspaceId, admin.key), app.database, tenant);
  return { ...resources, key: admin.key, cookie };
}
