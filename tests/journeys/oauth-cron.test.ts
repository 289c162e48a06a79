import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { type AccountsApp, startAccountsApp } from "../support/accounts-app.ts";
import { addressBehind, giveConsent } from "../support/auth-service-app.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { makeOwn } from "../support/own-key.ts";

let accounts: AccountsApp;
let app: AccountsApp["app"];
let url: string;
let logs: AccountsApp["logs"];

beforeAll(async () => {
  accounts = await startAccountsApp();
  ({ app, url, logs } = accounts);
});
afterAll(() => accounts?.stop());

type Values = {
  messages?: { content: unknown }[];
  __interrupt__?: { value: { auth_url: string } }[];
};

const question = { messages: [{ role: "user", content: "What is my account at Test Service?" }] };
const fast = { configurable: { token_delay_ms: 0 } };
const connected = "Your Test Service account is **Ada (ada@example.com)**.";
const nobody = "This run was not started with a key or session";

async function addEditor(name: string) {
  const member = await app.call<{ user_id: string }>("POST", "/v2/members", {
    body: { email: `${name}@example.com`, role: "editor" },
  });
  const { user_id } = member.body;
  const key = await app.call<{ id: string; key: string }>("POST", "/v2/api-keys", {
    body: { name, role: "editor", user_id },
  });
  await makeOwn(app.database, key.body.id);
  const client = new Client({ apiUrl: url, apiKey: key.body.key });
  return { userId: user_id, key: key.body.key, client };
}

/** As a person does: asks the agent, gives the consent it stops with. */
async function connect({ client, key }: Awaited<ReturnType<typeof addEditor>>) {
  const { thread_id } = await client.threads.create();
  const asked = (await client.runs.wait(thread_id, "agent", { input: question, config: fast })) as Values;
  const page = asked.__interrupt__![0]!.value.auth_url;
  const arrived = await giveConsent(await addressBehind(page, key));
  const body = Object.fromEntries(arrived.searchParams);
  const finished = await app.call("POST", "/v2/auth/callback/test", { body, headers: { "x-api-key": key } });
  expect(finished.status).toBe(200);
}

const createCron = (client: Client) =>
  client.crons.create("agent", {
    schedule: "0 0 1 1 *",
    input: question,
    config: fast,
    onRunCompleted: "keep",
  });

/** Its time has come; what the agent answered in the run that begins. */
async function fire(cronId: string): Promise<string> {
  const admin = new Client({ apiUrl: url, apiKey: app.apiKey });
  const threads = async () => admin.threads.search({ metadata: { cron_id: cronId }, limit: 100 });
  const before = new Set((await threads()).map(({ thread_id }) => thread_id));
  await raw`update crons set next_run_date = now() where cron_id = ${cronId}`.execute(app.database.sql);
  await raw`select pg_notify('treadle_crons', '')`.execute(app.database.sql);
  const done = await waitUntil(
    async () =>
      (await threads()).find(
        ({ thread_id, status }) => !before.has(thread_id) && ["idle", "interrupted"].includes(status),
      ),
    { what: `the run of cron ${cronId}`, timeoutMs: 30_000, intervalMs: 50 },
  );
  expect(done.status).toBe("idle");
  const { messages = [] } = done.values as Values;
  return String(messages.at(-1)?.content);
}

describe("the runs of a cron", () => {
  it("use the accounts of who made it, until that person leaves the workspace", async () => {
    const ada = await addEditor("ada");
    await connect(ada);
    const { cron_id } = await createCron(ada.client);
    expect(await fire(cron_id)).toBe(connected);

    expect((await app.call("DELETE", `/v2/members/${ada.userId}`)).status).toBe(204);
    expect(await fire(cron_id)).toContain(nobody);
    const asked = await app.call<unknown[]>("GET", "/v2/auth/authorizations");
    expect(asked.body).toEqual([]);
    expect(logs.text()).toContain("the run acts for nobody");
  });

  it("use none while that person may not start runs, whatever is still connected", async () => {
    const bob = await addEditor("bob");
    await connect(bob);
    const { cron_id } = await createCron(bob.client);
    const setRole = (role: string) => app.call("PATCH", `/v2/members/${bob.userId}`, { body: { role } });
    expect((await setRole("viewer")).status).toBe(200);
    expect(await fire(cron_id)).toContain(nobody);
    expect((await setRole("editor")).status).toBe(200);
    expect(await fire(cron_id)).toBe(connected);
  });

  it("never use those of somebody else", async () => {
    const carol = await addEditor("carol");
    await connect(carol);
    const admin = new Client({ apiUrl: url, apiKey: app.apiKey });
    const { cron_id } = await admin.crons.create("agent", {
      schedule: "0 0 1 1 *",
      input: question,
      config: { configurable: { token_delay_ms: 0, __treadle_user: { userId: carol.userId } } },
    });
    await raw`update crons set next_run_date = now() where cron_id = ${cron_id}`.execute(app.database.sql);
    await raw`select pg_notify('treadle_crons', '')`.execute(app.database.sql);
    // The administrator has connected nothing, so the run asks them, and them alone.
    const waiting = await waitUntil(
      async () => {
        const { body } = await app.call<{ provider_id: string }[]>("GET", "/v2/auth/authorizations");
        return body.length > 0 ? body : undefined;
      },
      { what: "a consent to wait for the administrator", timeoutMs: 30_000, intervalMs: 50 },
    );
    expect(waiting).toMatchObject([{ provider_id: "test" }]);
  });
});
