import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuthServiceApp, createAuthServiceApp } from "../../../tests/support/auth-service-app.ts";
import { type HttpListener, startHttpListener } from "../../../tests/support/components/http-listener.ts";
import { raw } from "../../platform/db/raw.ts";
import { enqueue } from "../../platform/jobs/job-queue.ts";
import { removeDepartedJobKind } from "./departure-service.ts";

let app: AuthServiceApp;
let provider: HttpListener;
/** Tokens revoked at the provider, and how often it still refuses. */
const revoked: string[] = [];
let refusals = 0;

beforeAll(async () => {
  app = await createAuthServiceApp({ jobs: true });
  provider = await startHttpListener(() => (request, response) => {
    text(request).then((body) => {
      if (refusals > 0) {
        refusals -= 1;
        response.writeHead(503).end();
        return;
      }
      revoked.push(new URLSearchParams(body).get("token")!);
      response.writeHead(200).end();
    }, response.destroy);
  });
  await addProvider(app.workspaceId);
});
afterAll(async () => {
  await app?.stop();
  await provider?.stop();
});

async function addProvider(tenant: string): Promise<void> {
  const body = {
    provider_id: "test",
    name: "Test",
    client_id: "id",
    auth_url: `${provider.origin}/authorize`,
    token_url: `${provider.origin}/token`,
    revocation_url: `${provider.origin}/revoke`,
  };
  expect((await app.call("POST", "/v2/auth/providers", { tenant, body })).status).toBe(200);
}

async function importToken(access_token: string, key: string, tenant = app.workspaceId): Promise<string> {
  const body = { provider_id: "test", access_token };
  const imported = await app.call<{ token_id: string }>("POST", "/v2/auth/tokens/import", {
    key,
    tenant,
    body,
  });
  expect(imported.status).toBe(200);
  return imported.body.token_id;
}

const isStored = async (id: string) =>
  (await raw`select 1 from auth_tokens where id = ${id}`.execute(app.database.sql)).rows.length > 0;
const waiting = { timeout: 20_000 };

describe("a member who is removed", () => {
  it("leaves no token behind: unusable at once, revoked at the provider, then deleted", async () => {
    const leaver = await app.addPerson("leaver@example.com");
    const tokenId = await importToken("lent", leaver.key);
    const kept = await importToken("kept", app.admin.key);
    const link = { key: leaver.key, body: { oauth_token_id: tokenId } };
    expect((await app.call("POST", "/v2/auth/agents/helper/connections", link)).status).toBe(201);
    const ask = { body: { provider: "test", scopes: [], agent_id: "helper", check_only: true } };
    const before = await app.call("POST", "/v2/auth/authenticate", ask);
    expect(before.body).toMatchObject({ status: "completed", token: "lent" });
    refusals = 1;
    expect((await app.call("DELETE", `/v2/members/${leaver.userId}`)).status).toBe(204);
    const after = await app.call("POST", "/v2/auth/authenticate", ask);
    expect(JSON.stringify(after.body)).not.toContain("lent");
    await expect.poll(() => isStored(tokenId), waiting).toBe(false);
    expect(revoked).toEqual(["lent"]);
    expect(await isStored(kept)).toBe(true);
    const { rows } = await raw`select event_type, source from auth_token_events where token_id = ${tokenId}
      order by created_at desc, id desc limit 1`.execute(app.database.sql);
    expect(rows).toEqual([{ event_type: "revoked", source: "member removed" }]);
  });

  it("is forgotten here in the end, whatever the provider says", async () => {
    const leaver = await app.addPerson("last@example.com");
    const tokenId = await importToken("never", leaver.key);
    refusals = Number.POSITIVE_INFINITY;
    expect((await app.call("DELETE", `/v2/members/${leaver.userId}`)).status).toBe(204);
    // The last attempt, two hours from now.
    await raw`delete from jobs where kind = ${removeDepartedJobKind} and status = 'pending'`.execute(
      app.database.sql,
    );
    // In one transaction: the worker hears of the job at its commit, and looks no more for a while.
    await app.database.transaction(async (tx) => {
      const { id } = await enqueue(tx, {
        kind: removeDepartedJobKind,
        payload: {
          workspaceId: app.workspaceId,
          userId: leaver.userId,
          before: app.clock.now().toISOString(),
        },
        maxAttempts: 20,
      });
      await raw`update jobs set attempts = 19 where id = ${id}`.execute(tx);
    });
    await expect.poll(() => isStored(tokenId), waiting).toBe(false);
    refusals = 0;
    expect(revoked).not.toContain("never");
  });
});

describe("a workspace that is deleted", () => {
  it("takes its tokens and providers with it", async () => {
    const made = await app.call<{ id: string }>("POST", "/v2/workspaces", { body: { name: "Short-lived" } });
    expect(made.status).toBe(201);
    const tenant = made.body.id;
    await addProvider(tenant);
    const tokenId = await importToken("gone", app.admin.key, tenant);
    expect((await app.call("DELETE", `/v2/workspaces/${tenant}`)).status).toBe(204);
    const left = async () =>
      (await raw`select 1 from auth_providers where workspace_id = ${tenant}`.execute(app.database.sql)).rows
        .length;
    await expect.poll(left, waiting).toBe(0);
    expect(await isStored(tokenId)).toBe(false);
    expect(revoked).toContain("gone");
  });
});
