import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { createTestApp, type TestApp } from "../support/app.ts";
import { addressBehind, giveConsent, introspect } from "../support/auth-service-app.ts";
import { callbackUri, clientId, clientSecret, providerBody } from "../support/auth-service-provider.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";
import { createTestDatabase } from "../support/database.ts";
import { tablesHolding } from "../support/database-text.ts";

let platform: TestApp;
let server: OAuthServer;
let agent: RunningAgent;
let agentDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let client: Client;

type Consent = { auth_url: string; auth_id: string };
type Result = { messages: { content: unknown }[]; __interrupt__?: { value: Consent }[] };

beforeAll(async () => {
  platform = await createTestApp();
  const url = await platform.listen();
  server = await startOAuthServer({
    clients: [{ clientId, clientSecret, redirectUris: [callbackUri(url, "test")] }],
  });
  await platform.call("POST", "/v2/auth/providers", { body: providerBody(server) });
  agentDatabase = await createTestDatabase();
  const project = fileURLToPath(new URL("../../examples/account-agent/langgraph.json", import.meta.url));
  agent = await startAgent(project, {
    DATABASE_URL: agentDatabase.url,
    ACCOUNTS_URL: url,
    ACCOUNTS_KEY: platform.apiKey,
    PROVIDER: "test",
    SCOPES: "openid profile",
    PROFILE_URL: server.userinfoEndpoint,
  });
  client = new Client({ apiUrl: agent.ready.url });
}, 120_000);
afterAll(async () => {
  await agent?.process.stop();
  await agentDatabase?.drop();
  await platform?.stop();
  await server?.stop();
});

const run = async (threadId: string, payload: object, userId = "visitor-1") =>
  (await client.runs.wait(threadId, "agent", {
    config: { configurable: { user_id: userId } },
    ...payload,
  })) as unknown as Result;
const question = { input: { messages: [{ role: "user", content: "Who am I?" }] } };

describe("a graph of one's own, in a process of its own", () => {
  it("stops for the consent, goes on with an access token, and keeps none", async () => {
    const { thread_id } = await client.threads.create();
    const asked = (await run(thread_id, question)).__interrupt__?.[0]?.value;
    expect(asked).toMatchObject({
      message: "Connect your test account to go on.",
      provider: "test",
      scopes: ["openid", "profile"],
      auth_id: expect.any(String),
    });
    const arrived = await giveConsent(await addressBehind(asked!.auth_url, platform.apiKey));
    const body = Object.fromEntries(arrived.searchParams);
    expect((await platform.call("POST", "/v2/auth/callback/test", { body })).status).toBe(200);
    const done = await run(thread_id, { command: { resume: { type: "connected" } } });
    expect(done.messages.at(-1)?.content).toBe("You are Ada.");
    const { assistant_id } = (await client.assistants.search())[0]!;
    const { body: held } = await platform.call<{ token: string }>("POST", "/v2/auth/authenticate", {
      body: { provider: "test", scopes: [], user_id: "visitor-1", agent_id: assistant_id },
    });
    expect(await introspect(server, held.token)).toMatchObject({ active: true });
    expect(await tablesHolding(agentDatabase.database, "You are Ada.")).not.toEqual([]);
    expect(await tablesHolding(agentDatabase.database, held.token)).toEqual([]);
  });

  it("asks another person for their own account", async () => {
    const { thread_id } = await client.threads.create();
    const result = await run(thread_id, question, "visitor-2");
    const address = await addressBehind(result.__interrupt__![0]!.value.auth_url, platform.apiKey);
    expect(address).toContain(server.authorizationEndpoint);
  });

  it("takes a no", async () => {
    const { thread_id } = await client.threads.create();
    await run(thread_id, question, "visitor-3");
    const resumed = client.runs.wait(thread_id, "agent", {
      config: { configurable: { user_id: "visitor-3" } },
      command: { resume: { type: "declined" } },
    });
    await expect(resumed).rejects.toThrow("You did not connect your test account");
  });
});
