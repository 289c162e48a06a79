import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { type AccountsApp, startAccountsApp } from "../support/accounts-app.ts";
import { addressBehind, giveConsent, introspect } from "../support/auth-service-app.ts";
import { tablesHolding } from "../support/database-text.ts";
import { makeOwn } from "../support/own-key.ts";

let accounts: AccountsApp;
let app: AccountsApp["app"];
let url: string;
let server: AccountsApp["server"];
let logs: AccountsApp["logs"];
let client: Client;

type Consent = { auth_url: string; auth_id: string; provider: string; scopes: string[]; message: string };
type Result = { messages: { type: string; content: unknown }[]; __interrupt__?: { value: Consent }[] };

beforeAll(async () => {
  accounts = await startAccountsApp();
  ({ app, url, server, logs } = accounts);
  client = new Client({ apiUrl: url, apiKey: app.apiKey });
});
beforeEach(async () => {
  await app.call("DELETE", "/v2/auth/tokens?provider_id=test&force=true");
});
afterAll(() => accounts?.stop());

const sentence = "What is my account at Test Service?";
const say = (content: string) => ({ input: { messages: [{ role: "user", content }] } });
const fast = { config: { configurable: { token_delay_ms: 0 } } };

async function run(threadId: string, payload: Record<string, unknown>): Promise<Result> {
  return (await client.runs.wait(threadId, "agent", { ...fast, ...payload })) as Result;
}

async function ask(text = sentence) {
  const { thread_id: threadId } = await client.threads.create();
  return { threadId, result: await run(threadId, say(text)) };
}

/** What the person does who opens the address of an interrupt. */
const consentTo = async (pageUrl: string) => giveConsent(await addressBehind(pageUrl, app.apiKey));

/** What the callback page does with the address the provider sent the person back to. */
async function finish(arrived: URL, headers: Record<string, string> = {}) {
  const body = Object.fromEntries(arrived.searchParams);
  return app.call("POST", "/v2/auth/callback/test", { body, headers });
}

const answer = ({ messages }: Result) => {
  const content = messages.at(-1)?.content;
  return typeof content === "string" ? content : JSON.stringify(content);
};
const currentToken = async () =>
  (
    await app.call<{ token: string }>("POST", "/v2/auth/authenticate", {
      body: { provider: "test", scopes: [], agent_id: await agentId() },
    })
  ).body.token;
const agentId = async () =>
  (await client.assistants.search({ graphId: "agent" })).find(({ graph_id }) => graph_id === "agent")!
    .assistant_id;

describe("the built-in agent and a person's account", () => {
  it("stops with the address of a consent, and goes on once it is given", async () => {
    const { threadId, result } = await ask();
    const asked = result.__interrupt__?.[0]?.value;
    expect(asked).toEqual({
      message: expect.stringContaining("I need your Test Service account"),
      auth_url: `${url}/v2/auth/consent/${asked?.auth_id}`,
      auth_id: expect.any(String),
      provider: "test",
      provider_name: "Test Service",
      scopes: ["openid", "profile", "email"],
    });
    expect((await client.threads.get(threadId)).status).toBe("interrupted");
    expect((await finish(await consentTo(asked!.auth_url))).status).toBe(200);
    const done = await run(threadId, { command: { resume: { type: "connected" } } });
    expect(done.__interrupt__).toBeUndefined();
    expect(answer(done)).toBe("Your Test Service account is **Ada (ada@example.com)**.");
  });

  it("uses what is connected without asking", async () => {
    const first = await ask();
    await finish(await consentTo(first.result.__interrupt__![0]!.value.auth_url));
    const { result } = await ask("Please use my test account");
    expect(answer(result)).toContain("Ada (ada@example.com)");
    // Each read of the token is recorded, with the agent that read it and whose token it was.
    const log = await app.call<{ resources: { actor: { user_id: string } }[] }>(
      "GET",
      "/v2/audit-events?action=oauth_token.read&limit=1",
    );
    const me = await app.call<{ resources: { user_id: string }[] }>("GET", "/v2/members");
    expect(log.body.resources).toMatchObject([
      {
        outcome: "done",
        actor: { kind: "system", via: "agent", user_id: me.body.resources[0]!.user_id },
        target: { kind: "oauth_provider", id: "test" },
        details: { agent_id: await agentId() },
      },
    ]);
  });

  it("lets the token into no event, state, trace, table or log", async () => {
    const { threadId, result } = await ask();
    await finish(await consentTo(result.__interrupt__![0]!.value.auth_url));
    const said: string[] = [];
    const stream = client.runs.stream(threadId, "agent", {
      ...fast,
      command: { resume: true },
      streamMode: ["values", "updates", "messages-tuple", "debug", "events", "custom", "tasks"],
      streamSubgraphs: true,
    });
    for await (const part of stream) said.push(JSON.stringify(part));
    const token = await currentToken();
    expect(await introspect(server, token)).toMatchObject({ active: true, sub: "ada" });
    expect(said.join("\n")).toContain("Ada (ada@example.com)");
    expect(said.join("\n")).not.toContain(token);
    const states = [await client.threads.getState(threadId), await client.threads.getHistory(threadId)];
    expect(JSON.stringify(states)).not.toContain(token);
    // Everything the run wrote is in a table by now, or in none.
    await expect
      .poll(async () => JSON.stringify((await app.call("POST", "/api/v1/runs/query", { body: {} })).body))
      .toContain("get_account");
    expect(await tablesHolding(app.database, token)).toEqual([]);
    expect(await tablesHolding(app.database, "Ada (ada@example.com)")).not.toEqual([]);
    expect(logs.text()).not.toBe("");
    expect(logs.text()).not.toContain(token);
  });

  it("asks with the same address while the answer is out, and again after it was refused", async () => {
    const { threadId, result } = await ask();
    const first = result.__interrupt__![0]!.value;
    const early = await run(threadId, { command: { resume: { type: "connected" } } });
    expect(early.__interrupt__?.[0]?.value.auth_url).toBe(first.auth_url);
    const state = new URL(await addressBehind(first.auth_url, app.apiKey)).searchParams.get("state")!;
    await app.call("POST", "/v2/auth/callback/test", { body: { state, error: "access_denied" } });
    const consent = await app.call("GET", `/v2/auth/authorizations/${first.auth_id}?timeout=5`);
    expect(consent.body).toMatchObject({ status: "failed", failure: "access_denied" });
    const again = await run(threadId, { command: { resume: { type: "retry" } } });
    const second = again.__interrupt__![0]!.value;
    expect(second.auth_id).not.toBe(first.auth_id);
    await finish(await consentTo(second.auth_url));
    expect(answer(await run(threadId, { command: { resume: { type: "connected" } } }))).toContain("Ada");
  });

  it("takes a no, and withdraws the consent it had asked for", async () => {
    const { threadId, result } = await ask();
    const { auth_id, auth_url } = result.__interrupt__![0]!.value;
    const open = await app.call<{ auth_id: string; url: string }[]>("GET", "/v2/auth/authorizations");
    const address = await addressBehind(auth_url, app.apiKey);
    expect(address).toContain(server.authorizationEndpoint);
    expect(open.body).toContainEqual(expect.objectContaining({ auth_id, url: address, provider_id: "test" }));
    const done = await run(threadId, { command: { resume: { type: "declined" } } });
    expect(answer(done)).toContain("you did not connect your Test Service account");
    const left = await app.call<{ auth_id: string }[]>("GET", "/v2/auth/authorizations");
    expect(left.body.map((one) => one.auth_id)).not.toContain(auth_id);
    expect((await finish(await giveConsent(address))).status).toBe(400);
  });

  it("says which services there are when it is asked for another", async () => {
    const { result } = await ask("What is my account at Nowhere?");
    expect(answer(result)).toContain('No service called "Nowhere"');
    expect(answer(result)).toContain("Test Service");
  });

  it("asks everybody for an account of their own, whoever they say they are", async () => {
    const member = await app.call<{ user_id: string }>("POST", "/v2/members", {
      body: { email: "eve@example.com", role: "editor" },
    });
    const key = await app.call<{ id: string; key: string }>("POST", "/v2/api-keys", {
      body: { name: "eve", role: "editor", user_id: member.body.user_id },
    });
    await makeOwn(app.database, key.body.id);
    const { threadId, result } = await ask();
    const { auth_url, auth_id } = result.__interrupt__![0]!.value;
    const eve = { "x-api-key": key.body.key };
    expect((await app.call("GET", `/v2/auth/authorizations/${auth_id}`, { headers: eve })).status).toBe(404);
    await finish(await consentTo(auth_url));
    const other = new Client({ apiUrl: url, apiKey: key.body.key });
    const { rows } = await raw<{ owner_id: string }>`select owner_id from auth_tokens`.execute(
      app.database.sql,
    );
    const spoof = { __treadle_user: { workspaceId: app.workspaceId, userId: rows[0]!.owner_id } };
    const { thread_id } = await other.threads.create();
    const hers = (await other.runs.wait(thread_id, "agent", {
      ...say(sentence),
      config: { configurable: { token_delay_ms: 0, ...spoof } },
    })) as unknown as Result;
    expect(hers.__interrupt__?.[0]?.value.auth_id).not.toBe(auth_id);
    expect(await addressBehind(hers.__interrupt__![0]!.value.auth_url, key.body.key)).toContain(
      server.authorizationEndpoint,
    );
    const mine = await run(threadId, { command: { resume: true } });
    expect(answer(mine)).toContain("Ada");
  });

  it("shows readers of the thread nothing they could finish the consent with", async () => {
    const key = async (email: string, role: "viewer" | "editor") => {
      const member = await app.call<{ user_id: string }>("POST", "/v2/members", { body: { email, role } });
      const made = await app.call<{ id: string; key: string }>("POST", "/v2/api-keys", {
        body: { name: email, role, user_id: member.body.user_id },
      });
      await makeOwn(app.database, made.body.id);
      return made.body.key;
    };
    const { threadId, result } = await ask();
    const { auth_url, auth_id } = result.__interrupt__![0]!.value;
    const address = new URL(await addressBehind(auth_url, app.apiKey));
    const [, secret] = address.searchParams.get("state")!.split(".");
    const viewer = new Client({ apiUrl: url, apiKey: await key("vic@example.com", "viewer") });
    const seen = JSON.stringify([
      await viewer.threads.get(threadId),
      await viewer.threads.getState(threadId),
      await viewer.threads.getHistory(threadId),
      await viewer.runs.list(threadId),
    ]);
    expect(seen).toContain(auth_url);
    expect(seen).not.toContain(secret);
    expect(seen).not.toContain(address.host + address.pathname);
    // Nothing but the seal holds it: no checkpoint, event, trace or run.
    expect(await tablesHolding(app.database, secret!)).toEqual([]);
    for (const [role, status] of [
      ["viewer", 403],
      ["editor", 404],
    ] as const) {
      const headers = { "x-api-key": await key(`mallory-${role}@example.com`, role) };
      const asked = await app.call("GET", `/v2/auth/authorizations/${auth_id}`, { headers });
      expect({ role, status: asked.status }).toEqual({ role, status });
      expect(JSON.stringify(asked.body)).not.toContain(secret);
    }
    const page = await (await fetch(auth_url)).text();
    expect(page).toBe(await (await fetch(auth_url.replace(auth_id, "another"))).text());
  });
});
