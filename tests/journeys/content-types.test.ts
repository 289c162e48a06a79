import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { createBrowserClient } from "../support/browser-client.ts";

/** JSON under the types that clients really send, and who may send it so. */
let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app?.stop());

const foreignTypes = [
  "text/plain;charset=UTF-8",
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "",
];

function send(path: string, type: string, headers: Record<string, string>, body = "{}", method = "POST") {
  // Bytes: for a text the platform would name a type by itself.
  const bytes = new TextEncoder().encode(body);
  return app.app.fetch(
    new Request(`http://127.0.0.1${path}`, {
      method,
      headers: { ...headers, ...(type === "" ? {} : { "content-type": type }) },
      body: bytes,
    }),
  );
}

const jsonRoutes = () => app.app.routes.filter(({ spec }) => spec.body);
const pathOf = (path: string) => path.replaceAll(/\{[^}]+\}/g, () => crypto.randomUUID());

describe("with a key", () => {
  it("a chat front end that forwards bodies as text/plain streams a run", async () => {
    const key = { "x-api-key": app.apiKey };
    const made = await send("/threads", foreignTypes[0]!, key);
    const { thread_id } = (await made.json()) as { thread_id: string };
    const input = { messages: [{ role: "user", content: "hello" }] };
    const body = JSON.stringify({ assistant_id: "echo", input, stream_mode: ["values"] });
    const stream = await send(`/threads/${thread_id}/runs/stream`, foreignTypes[0]!, key, body);
    expect(stream.status).toBe(200);
    expect(await stream.text()).toContain("hello");
  });

  it.each([["x-api-key"], ["authorization"]])(
    "no JSON route of any area minds the type (%s)",
    async (name) => {
      const headers = { [name]: name === "authorization" ? `Bearer ${app.apiKey}` : app.apiKey };
      const minding: string[] = [];
      for (const { spec } of jsonRoutes()) {
        // Told apart from "not JSON at all", which stays 422.
        const answer = await send(
          pathOf(spec.path),
          "application/x-www-form-urlencoded",
          headers,
          "no json",
          spec.method.toUpperCase(),
        );
        await answer.body?.cancel();
        if (answer.status === 415) minding.push(`${spec.method} ${spec.path}`);
      }
      expect(minding).toEqual([]);
    },
  );

  it("JSON-RPC and the streaming protocol do not mind either", async () => {
    const headers = { "x-api-key": app.apiKey, accept: "application/json, text/event-stream" };
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect((await send("/mcp", "text/plain", headers, ping)).status).toBe(200);
    const command = JSON.stringify({ id: 1, method: "state.get", params: {} });
    const path = `/threads/${crypto.randomUUID()}/commands`;
    expect((await send(path, "text/plain", headers, command)).status).toBe(200);
  });
});

describe("without a key, 415", () => {
  const refusedEverywhere = async (headers: Record<string, string>) => {
    const taken: string[] = [];
    for (const { spec } of jsonRoutes()) {
      if (spec.access.kind !== "agent") continue;
      for (const type of foreignTypes) {
        const answer = await send(pathOf(spec.path), type, headers, "{}", spec.method.toUpperCase());
        await answer.body?.cancel();
        if (answer.status !== 415) taken.push(`${spec.method} ${spec.path} as ${type}: ${answer.status}`);
      }
    }
    return taken;
  };

  it("for whatever a page of another site can send without asking", async () => {
    expect(await refusedEverywhere({})).toEqual([]);
    expect((await send("/threads", "application/json", {})).status).toBe(200);
    expect((await send("/threads", "application/json; charset=utf-8", {})).status).toBe(200);
    for (const path of ["/mcp", `/threads/${crypto.randomUUID()}/commands`]) {
      const headers = { accept: "application/json, text/event-stream" };
      expect((await send(path, "text/plain", headers)).status).toBe(415);
    }
  });

  it("and says what to do", async () => {
    const answer = await send("/threads", "text/plain", {});
    expect(await answer.json()).toMatchObject({
      detail: expect.stringMatching(/application\/json.*X-Api-Key/),
    });
  });

  it("also for the console's session: a browser sends cookies unasked", async () => {
    const browser = createBrowserClient(async (request) => app.app.fetch(request));
    const { status } = await browser.send("POST", "/v2/auth/sign-in/key", { body: { api_key: app.apiKey } });
    expect(status).toBe(201);
    const text = { text: "{}", headers: { "content-type": "text/plain" } };
    expect((await browser.send("POST", "/threads", text)).status).toBe(415);
    expect((await browser.send("POST", "/v2/workspaces", text)).status).toBe(415);
    expect((await browser.send("POST", "/threads", { body: {} })).status).toBe(200);
  });
});

describe("a page of another site", () => {
  it.each(foreignTypes)("is refused with the type %s", async (type) => {
    const page = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await send("/threads", type, page)).status).toBe(403);
  });
});
