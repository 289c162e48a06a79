import { describe, expect, it } from "vitest";
import { buildHttpApp } from "../../../../tests/support/http-app-fixture.ts";
import { errorKinds } from "../../errors.ts";
import { statusOf } from "../error-response.ts";

const { call, lines } = buildHttpApp();
const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  call(path, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
const issueOf = async (path: string, body: unknown) => {
  const answer = await post(path, JSON.stringify(body));
  expect(answer.status).toBe(422);
  return answer.body.detail;
};

describe("400", () => {
  it.each(["/things/%ff", "/things/%", "/things/%E0%A4%A", "/things/a%00b"])(
    "refuses the path %s",
    async (path) => {
      const answer = await call(path);
      expect(answer.status).toBe(400);
      expect(answer.body.detail).toContain("percent-encoding");
    },
  );
});

describe("401", () => {
  it("asks for a credential", async () => {
    const answer = await call("/locked");
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain("Bearer");
    expect(answer.body.detail).toContain("X-Api-Key");
  });
  it("refuses a bad credential everywhere, also where none is needed", async () => {
    for (const path of ["/locked", "/agent"]) {
      expect((await call(path, { headers: { "x-api-key": "wrong" } })).status).toBe(401);
    }
  });
  it("closes agent routes when a credential is required", async () => {
    const closed = buildHttpApp({ agentAuthRequired: true });
    expect((await closed.call("/agent")).status).toBe(401);
    expect((await closed.call("/agent", { headers: { "x-api-key": "viewer" } })).body).toEqual({
      via: "api_key",
    });
  });
  it("comes before validation", async () => {
    expect((await call("/locked?limit=x")).status).toBe(401);
  });
});

describe("403", () => {
  it("refuses a role that is too low", async () => {
    const answer = await call("/locked", { headers: { "x-api-key": "viewer" } });
    expect(answer.status).toBe(403);
    expect(answer.body.detail).toContain("editor");
    expect((await call("/locked", { headers: { "x-api-key": "admin" } })).status).toBe(200);
  });
  it.each([
    ["a foreign page", { origin: "https://evil.example" }],
    ["a sandboxed page", { origin: "null" }],
    ["a name that resolves to loopback", { host: "evil.example:8124" }],
    ["a name that only starts like loopback", { host: "localhost.evil.example" }],
    ["an origin that only looks like loopback", { origin: "http://localhost@evil.example" }],
    ["a picture on a foreign page", { "sec-fetch-site": "cross-site" }],
    ["a host that is none", { host: "localhost/evil" }],
  ])("keeps %s away from credential-free agents", async (_name, headers) => {
    const answer = await call("/agent", { headers });
    expect(answer.status).toBe(403);
    expect(typeof answer.body.detail).toBe("string");
  });
  it.each([
    [{}],
    [{ host: "127.0.0.1:9999" }],
    [{ host: "[::1]:8124" }],
    [{ host: "app.localhost" }],
    [{ origin: "http://localhost:5173", "sec-fetch-site": "cross-site" }],
    [{ origin: "http://127.0.0.1:3000" }],
    [{ origin: "https://studio.example", "sec-fetch-site": "cross-site" }],
    [{ "sec-fetch-site": "same-origin" }],
  ])("lets %j through", async (headers) => {
    expect((await call("/agent", { headers })).body).toEqual({ via: "loopback" });
  });
  it("keeps pages away that are never to be trusted, also those of this machine", async () => {
    const app = buildHttpApp({ cors: { neverTrusted: (origin) => origin.includes(".localhost") } });
    const status = async (origin: string) => (await app.call("/agent", { headers: { origin } })).status;
    expect(await status("http://x.localhost:8124")).toBe(403);
    expect(await status("http://localhost:8124")).toBe(200);
  });
  it("does not take * as trust", async () => {
    const any = buildHttpApp({ corsOrigins: ["*"] });
    expect((await any.call("/agent", { headers: { origin: "https://evil.example" } })).status).toBe(403);
    const keyed = await any.call("/agent", {
      headers: { origin: "https://a.example", "x-api-key": "viewer" },
    });
    expect(keyed.headers.get("access-control-allow-origin")).toBe("*");
  });
});

describe("404", () => {
  it("says so in the one shape", async () => {
    const answer = await call("/nothing/here");
    expect(answer.status).toBe(404);
    expect(Object.keys(answer.body)).toEqual(["detail"]);
    expect(answer.headers.get("x-error-code")).toBe("request.unknown_path");
    expect((await call("/nothing", { method: "OPTIONS" })).status).toBe(404);
  });
  it("matches no empty parameter", async () => {
    expect((await call("/uuids/")).status).toBe(404);
    expect((await call("/things//parts/1")).status).toBe(404);
  });
});

describe("405", () => {
  it("names the methods", async () => {
    const answer = await call("/ok", { method: "DELETE" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect(answer.body.detail).toContain("DELETE");
  });
});

const chunked = (size: number, pieces: number) =>
  new ReadableStream({
    start(controller) {
      for (let i = 0; i < pieces; i++) controller.enqueue(new Uint8Array(size).fill(0x20));
      controller.close();
    },
  });

describe("413", () => {
  it("refuses by the declared length without reading", async () => {
    const answer = await call("/things", {
      method: "POST",
      body: "{}",
      headers: { "content-length": "1001" },
    });
    expect(answer.status).toBe(413);
    expect(answer.body.detail).toContain("1000");
  });
  it("counts a body without a length", async () => {
    const init = { method: "POST", body: chunked(300, 4), duplex: "half" } as RequestInit;
    expect((await call("/things", init)).status).toBe(413);
  });
  it("holds for handlers that read the body themselves", async () => {
    const init = { method: "POST", body: chunked(60, 2), duplex: "half" } as RequestInit;
    expect((await call("/raw", init)).status).toBe(413);
    expect(
      (await call("/raw", { method: "POST", body: chunked(50, 2), duplex: "half" } as RequestInit)).body,
    ).toEqual({
      size: 100,
    });
  });
});

describe("415", () => {
  const types = ["application/x-www-form-urlencoded", "text/plain", ""];
  const passwords = { authorization: "Basic dXNlcjpwYXNz" };
  it.each(types)("refuses the type %j without a key", async (type) => {
    expect((await post("/free", "{}", { "content-type": type })).status).toBe(415);
    expect((await post("/free", "{}", { "content-type": type, ...passwords })).status).toBe(415);
    expect((await post("/free", "{}", { "content-type": type, "x-api-key": " " })).status).toBe(415);
  });
  it.each(types)("takes JSON as %j with a key", async (type) => {
    const keys: Record<string, string>[] = [{ "x-api-key": "admin" }, { authorization: "Bearer token" }];
    for (const key of keys)
      expect((await post("/free", '{"a":1}', { "content-type": type, ...key })).body).toEqual({ a: 1 });
    expect((await post("/free", "a=1", { "content-type": type, "x-api-key": "admin" })).status).toBe(422);
  });
});

describe("422", () => {
  it("names a missing field", async () => {
    expect(await issueOf("/things", {})).toEqual([
      { loc: ["body", "name"], msg: "Field required", type: "missing" },
    ]);
  });
  it("names each broken rule", async () => {
    const issues = await issueOf("/things", { name: "toolong", size: 11, mode: "c", tags: ["a", 1] });
    expect(issues).toEqual([
      {
        loc: ["body", "name"],
        msg: "String should have at most 5 characters",
        type: "string_too_long",
        input: "toolong",
        ctx: { max_length: 5 },
      },
      {
        loc: ["body", "size"],
        msg: "Input should be less than or equal to 10",
        type: "less_than_equal",
        input: 11,
        ctx: { le: 10 },
      },
      {
        loc: ["body", "mode"],
        msg: "Input should be 'a' or 'b'",
        type: "enum",
        input: "c",
        ctx: { expected: "'a' or 'b'" },
      },
      { loc: ["body", "tags", 1], msg: "Input should be a valid string", type: "string_type", input: 1 },
    ]);
  });
  it("never echoes a secret", async () => {
    const issues = await issueOf("/things", {
      name: "abc",
      secrets: [{ name: "K", value: 4711 }, "hunter2"],
    });
    expect(issues.map((issue: { loc: unknown }) => issue.loc)).toEqual([
      ["body", "secrets", 0, "value"],
      ["body", "secrets", 1],
    ]);
    expect(JSON.stringify(issues)).not.toMatch(/4711|hunter2/);
  });
  it.each(['{"name":', "{'a':1}", '{"password":"hunter2" oops}', "nul"])(
    "refuses the body %s",
    async (text) => {
      const answer = await post("/things", text);
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toMatchObject([{ loc: ["body"], type: "json_invalid" }]);
      expect(answer.text).not.toContain("hunter2");
    },
  );
  it("refuses bytes that are not UTF-8", async () => {
    const answer = await post("/free", new Uint8Array([0x22, 0xff, 0x22]));
    expect(answer.body.detail).toMatchObject([{ type: "json_invalid" }]);
  });
  it("refuses JSON nested too deep", async () => {
    const answer = await post("/free", `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].msg).toContain("512");
  });
  it("refuses a body of another kind", async () => {
    expect(await issueOf("/things", [])).toEqual([
      { loc: ["body"], msg: "Input should be a valid dictionary", type: "dict_type" },
    ]);
    const empty = await call("/batch", { method: "POST" });
    expect(empty.body.detail).toEqual([{ loc: ["body"], msg: "Field required", type: "missing" }]);
  });
  it("names the parameter of the path", async () => {
    const answer = await call("/uuids/nope");
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      { loc: ["path", "thing_id"], msg: "Input should be a valid UUID", type: "uuid_parsing", input: "nope" },
    ]);
  });
  it("names the parameter of the query", async () => {
    const answer = await call("/list?limit=ten");
    expect(answer.body.detail).toMatchObject([{ loc: ["query", "limit"], type: "int_parsing" }]);
    expect((await call("/list?limit=101")).body.detail).toMatchObject([
      { type: "less_than_equal", ctx: { le: 100 } },
    ]);
    expect((await call("/list?name=%00")).status).toBe(422);
  });
  it("takes a NUL the database refused as the caller's", async () => {
    expect((await call("/nul")).status).toBe(422);
  });
});

describe("every kind of error", () => {
  it.each(errorKinds.map((kind) => [kind, statusOf(kind)] as const))(
    "%s answers %i",
    async (kind, status) => {
      const answer = await call(`/kinds/${kind}`);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("retry-after")).toBe("7");
      if (kind === "unprocessable") expect(answer.body.detail[0].msg).toBe("words");
      else expect(answer.body).toEqual({ detail: "words" });
    },
  );
});

describe("500", () => {
  it("hides what happened and logs it with the request id", async () => {
    const answer = await call("/boom", { headers: { "x-request-id": "req-boom" } });
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({ detail: "Internal error. Request id req-boom." });
    expect(answer.headers.has("x-error-code")).toBe(false);
    const line = lines.find((entry) => entry.request_id === "req-boom" && entry.level === 50);
    expect(line?.err).toMatchObject({ stack: expect.stringContaining("http-app-fixture.ts") });
  });
  it("shows an answer that is not as published", async () => {
    const shape = await call("/wrong-shape");
    expect([shape.status, shape.body.detail]).toEqual([500, expect.stringContaining("response.count")]);
    const status = await call("/wrong-status");
    expect([status.status, status.body.detail]).toEqual([500, expect.stringContaining("202")]);
    const lenient = buildHttpApp({ validateResponses: false });
    expect((await lenient.call("/wrong-shape")).status).toBe(200);
  });
});
