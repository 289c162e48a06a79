import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { giveConsent } from "../support/auth-service-app.ts";
import { callbackUri, clientId, clientSecret, providerBody } from "../support/auth-service-provider.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createClient, type RunningClient, type TreadleClient } from "../support/treadle-client.ts";

let app: TestApp;
let server: OAuthServer;
let folder: TempFolder;
let client: TreadleClient;

beforeAll(async () => {
  app = await createTestApp();
  folder = await createTempFolder("command-line-connect");
  const url = await app.listen();
  client = createClient(folder.path, { TREADLE_URL: url, TREADLE_API_KEY: app.apiKey });
  server = await startOAuthServer({
    clients: [{ clientId, clientSecret, redirectUris: [callbackUri(url, "test")] }],
  });
  expect((await app.call("POST", "/v2/auth/providers", { body: providerBody(server) })).status).toBe(200);
});
afterAll(async () => {
  await app?.stop();
  await server?.stop();
  await folder?.remove();
});

async function consentUrl(running: RunningClient): Promise<string> {
  return waitUntil(() => /^ {2}(http\S+)/m.exec(running.text())?.[1], {
    what: "the address to consent at",
    timeoutMs: 20_000,
    evidence: running.text,
  });
}

const finish = (arrived: URL) =>
  app.call("POST", "/v2/auth/callback/test", { body: Object.fromEntries(arrived.searchParams) });

test("prints the address, waits for the consent, and says who is connected", {
  timeout: 90_000,
}, async () => {
  const running = client.terminal(["connect", "test", "-s", "openid", "-s", "email"], { columns: 400 });
  const arrived = await giveConsent(await consentUrl(running));
  expect((await finish(arrived)).status).toBe(200);
  const exit = await running.exited;
  expect(exit).toMatchObject({ code: 0, stdout: expect.stringMatching(/Connected to test( as \S+)?\./) });

  const again = await client.run(["connect", "test", "-s", "openid"]);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("Already connected to test") });
  const listed = await client.json<{ provider_id: string; status: string; id: string }[]>(["connections"]);
  expect(listed).toMatchObject([{ provider_id: "test", status: "active" }]);
  expect((await client.run(["connections"])).stdout).toMatch(/test .*active/);
});

test("revokes what is connected", { timeout: 90_000 }, async () => {
  expect((await client.run(["connections", "revoke", "test"])).stdout).toContain("1 connection to test");
  expect(await client.json<unknown[]>(["connections"])).toEqual([]);
  const nothing = await client.run(["connections", "revoke", "test"]);
  expect(nothing).toMatchObject({ code: 14 });
});

test("a consent that is refused ends with 15", { timeout: 90_000 }, async () => {
  const running = client.terminal(["connect", "test"], { columns: 400 });
  const asked = new URL(await consentUrl(running));
  const body = { state: asked.searchParams.get("state"), error: "access_denied" };
  await app.call("POST", "/v2/auth/callback/test", { body });
  const exit = await running.exited;
  expect(exit).toMatchObject({ code: 15, stdout: expect.stringContaining("Not connected to test") });
});

test("Ctrl-C ends the waiting with 130, --timeout with 16", { timeout: 90_000 }, async () => {
  const running = client.terminal(["connect", "test"], { columns: 400 });
  await consentUrl(running);
  running.type("\u0003");
  expect((await running.exited).code).toBe(130);
  expect((await client.run(["connect", "test", "--timeout", "1s"])).code).toBe(16);
});

test("an unknown provider is told with those there are", { timeout: 90_000 }, async () => {
  const exit = await client.run(["connect", "tset"]);
  expect(exit).toMatchObject({ code: 14, stderr: expect.stringContaining("Did you mean test?") });
});
