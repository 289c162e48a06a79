import { describe, expect, it } from "vitest";
import { allCredentials, type CallerFacts, requestHeaders } from "./request-headers.ts";

const facts = {
  port: 4000,
  secret: "only-the-gateway-says-this",
  host: "agents.example.com",
  protocol: "https",
  prefix: "/d/x",
  remote: "10.0.0.1",
};
const plain: CallerFacts = {
  usesOwnAuth: false,
  operator: false,
  keyed: false,
  platformCredentials: allCredentials,
};
const own: CallerFacts = {
  usesOwnAuth: true,
  keyed: false,
  operator: false,
  platformCredentials: new Set(["x-service-key"]),
};

function sent(incoming: Record<string, string | string[]>, caller = plain, place = facts) {
  const list = requestHeaders(incoming, place, caller);
  const pairs = Array.from(
    { length: list.length / 2 },
    (_, at) => [list[at * 2]!, list[at * 2 + 1]!] as const,
  );
  return Object.fromEntries(pairs) as Record<string, string>;
}

describe("what is passed on to a deployed server", () => {
  it("is set by the gateway alone", () => {
    const forged = {
      host: "evil",
      "content-length": "5",
      origin: "https://evil.example",
      referer: "https://evil.example/x",
      forwarded: "for=6.6.6.6",
      "x-real-ip": "6.6.6.6",
      "x-forwarded-for": "6.6.6.6",
      x_forwarded_for: "6.6.6.6",
      "x-http-method-override": "DELETE",
      "x-treadle-instance-secret": "guessed",
      "x-treadle-caller": "operator",
      x_treadle_caller: "operator",
      "x-auth-scheme": "langsmith",
      x_auth_scheme: "langsmith",
      "transfer-encoding": "chunked",
      te: "trailers",
      expect: "100-continue",
    };
    for (const caller of [plain, own]) {
      const { origin, "x-forwarded-origin": other, ...rest } = sent(forged, caller);
      expect([origin, other].filter((value) => value !== undefined)).toEqual(["https://evil.example"]);
      expect(rest).toEqual({
        host: "127.0.0.1:4000",
        "x-forwarded-for": "10.0.0.1",
        "x-forwarded-host": "agents.example.com",
        "x-forwarded-proto": "https",
        "x-forwarded-prefix": "/d/x",
        "x-treadle-instance-secret": "only-the-gateway-says-this",
      });
    }
  });

  it("says of an operator that it is one", () => {
    const headers = sent({ "x-auth-scheme": "langsmith" }, { ...own, operator: true });
    expect(headers).toMatchObject({ "x-auth-scheme": "langsmith", "x-treadle-caller": "operator" });
  });

  it("says of others whether they brought a key, and says it itself", () => {
    expect(sent({ "x-api-key": "k" }, { ...plain, keyed: true })["x-treadle-caller"]).toBe("key");
    expect(sent({ "x-treadle-caller": "key" })).not.toHaveProperty("x-treadle-caller");
  });

  it("holds no credential of the platform, but those of a project that authenticates itself", () => {
    const credentials = {
      "x-api-key": "k",
      authorization: "Bearer t",
      "x-tenant-id": "w",
      "x-service-key": "s",
    };
    const kept = (caller: CallerFacts) =>
      Object.keys(credentials).filter((name) => name in sent({ ...credentials, "x-custom": "1" }, caller));
    expect(kept(plain)).toEqual([]);
    expect(kept(own)).toEqual(["x-api-key", "authorization", "x-tenant-id"]);
    expect(kept({ ...own, platformCredentials: new Set(["x-api-key", "x-tenant-id"]) })).toEqual([
      "authorization",
      "x-service-key",
    ]);
    expect(sent({ x_api_key: "k" })).not.toHaveProperty("x_api_key");
  });

  it("holds no cookie of the platform", () => {
    const cookie = "a=1; treadle_session=s; __Host-treadle_session=t; b=2;TREADLE_csrf=u";
    for (const caller of [plain, own]) expect(sent({ cookie }, caller).cookie).toBe("a=1; b=2");
    expect(sent({ cookie: "treadle_session=s" })).not.toHaveProperty("cookie");
    expect(sent({ cookie: "a=treadle" }).cookie).toBe("a=treadle");
  });

  it("keeps the origin where the server behind would not mistake it for an intruder's", () => {
    expect(sent({ origin: "http://localhost:3000" }).origin).toBe("http://localhost:3000");
    expect(sent({ origin: "https://app.example.com" }).origin).toBeUndefined();
    expect(sent({ origin: "https://app.example.com" }, own).origin).toBe("https://app.example.com");
  });
});

describe("the Connection header", () => {
  it("takes headers of its own with it", () => {
    expect(sent({ connection: "keep-alive, X-Hop", "x-hop": "1", "x-kept": "2" })).toMatchObject({
      "x-kept": "2",
    });
    expect(sent({ connection: "keep-alive, X-Hop", "x-hop": "1" })).not.toHaveProperty("x-hop");
  });

  it.each([
    "content-length",
    "keep-alive, Content-Length",
    "close, transfer-encoding",
    "host",
    "authorization",
    "x-api-key",
    "cookie",
    "x-forwarded-for",
    "x_forwarded_host",
    "forwarded",
    "x-auth-scheme",
    "x-treadle-instance-secret",
    "content-type",
    "origin",
  ])("may not name %s", (connection) => {
    expect(() => sent({ connection })).toThrow(/must not name/);
  });
});
