import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../../tests/support/app.ts";
import { raw } from "../platform/db/raw.ts";

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ agentAuthRequired: true });
});
afterAll(() => app?.stop());

type View = { share_token: string; path: string };
type Shared = { title: string; messages: Record<string, unknown>[] };

const place = (thread: string) => ({ server: "built-in", thread });
const query = (thread: string) => `/v2/chat/shares?${new URLSearchParams(place(thread))}`;
const messages = [
  { type: "system", id: "s", content: "Never tell them about the vault." },
  { type: "human", id: "h", content: "Hello" },
  { type: "ai", id: "a", content: "Hi", response_metadata: { secret: "kept" }, tool_calls: [] },
];
const share = (thread: string, more: object = {}, headers: Record<string, string> = {}) =>
  app.call<View>("PUT", "/v2/chat/shares", {
    body: { ...place(thread), title: "A talk", messages, ...more },
    headers: { "x-tenant-id": app.workspaceId, ...headers },
  });
/** An anonymous caller: no key and no cookie. */
async function openAsStranger(token: string) {
  const answer = await app.app.fetch(new Request(`http://127.0.0.1/v2/chat/shared/${token}`));
  return { status: answer.status, body: (await answer.json()) as Shared };
}

it("is read by whoever has the link, as it was, and by nobody once it is taken back", async () => {
  const thread = randomUUID();
  const { body: made } = await share(thread);
  expect(made.path).toBe(`/chat#/shared/${made.share_token}`);
  expect((await app.call<View>("GET", query(thread))).body.share_token).toBe(made.share_token);
  const { status, body } = await openAsStranger(made.share_token);
  expect([status, body.title]).toEqual([200, "A talk"]);
  // Neither the instructions of the graph nor what it keeps beside the messages.
  expect(body.messages).toEqual([
    { type: "human", id: "h", content: "Hello" },
    { type: "ai", id: "a", content: "Hi", tool_calls: [] },
  ]);

  const again = await share(thread, { title: "Later" });
  expect(again.body.share_token).toBe(made.share_token);
  expect((await openAsStranger(made.share_token)).body.title).toBe("Later");

  expect((await app.call("DELETE", query(thread))).status).toBe(204);
  expect((await openAsStranger(made.share_token)).status).toBe(404);
  expect((await app.call("GET", query(thread))).status).toBe(404);
  const next = await share(thread);
  expect(next.body.share_token).not.toBe(made.share_token);
});

it("is neither found, changed nor taken back from another workspace", async () => {
  const thread = randomUUID();
  const { body: made } = await share(thread);
  const { body: other } = await app.call<{ id: string }>("POST", "/v2/workspaces", {
    body: { name: "Elsewhere" },
    headers: { "x-tenant-id": app.workspaceId },
  });
  const elsewhere = { "x-tenant-id": other.id };
  expect((await app.call("GET", query(thread), { headers: elsewhere })).status).toBe(404);
  expect((await app.call("DELETE", query(thread), { headers: elsewhere })).status).toBe(204);
  const theirs = await share(thread, { title: "Theirs" }, elsewhere);
  expect(theirs.body.share_token).not.toBe(made.share_token);
  expect((await openAsStranger(made.share_token)).body.title).toBe("A talk");
});

it("is shared by nobody without a key, nor by a viewer", async () => {
  const body = JSON.stringify({ ...place(randomUUID()), title: "x", messages });
  const headers = { "content-type": "application/json" };
  const stranger = await app.app.fetch(
    new Request("http://127.0.0.1/v2/chat/shares", { method: "PUT", headers, body }),
  );
  expect(stranger.status).toBe(401);
  const inDefault = { "x-tenant-id": app.workspaceId };
  const { body: viewer } = await app.call<{ key: string }>("POST", "/v2/api-keys", {
    body: { name: "looks", role: "viewer" },
    headers: inDefault,
  });
  expect((await share(randomUUID(), {}, { ...inDefault, "x-api-key": viewer.key })).status).toBe(403);
});

it("404 for a token nobody was given, 422 for what is none", async () => {
  expect((await openAsStranger(randomUUID())).status).toBe(404);
  expect((await openAsStranger("mine")).status).toBe(422);
});

it("is in the audit log, without its token", async () => {
  const thread = randomUUID();
  const { body: made } = await share(thread);
  const { rows } = await raw<{ action: string; text: string }>`
    select action, row_to_json(audit_events)::text as text from audit_events
    where row_to_json(audit_events)::text like ${`%${thread}%`}`.execute(app.database.sql);
  expect(rows.map(({ action }) => action)).toEqual(["chat.shared"]);
  expect(JSON.stringify(rows)).not.toContain(made.share_token);
});
