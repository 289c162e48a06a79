import { describe, expect, it } from "vitest";
import { refererPolicy } from "../pages/page-request.ts";
import { pageSandbox, responseHeaders } from "./response-headers.ts";

const shared = { prefix: "/d/x", port: 4000, ownCors: false };
const alone = { prefix: "", port: 4000, ownCors: false };
const passed = (name: string, value: string, place = shared) => {
  const list = responseHeaders([name, value], place);
  const at = list.indexOf(name);
  return at === -1 ? undefined : list[at + 1];
};

describe("what is passed back from a deployed server", () => {
  it.each(["location", "content-location"])("%s is as it is reached from outside", (name) => {
    expect(passed(name, "/docs")).toBe("/d/x/docs");
    expect(passed(name, "/threads/1/runs/2")).toBe("/d/x/threads/1/runs/2");
    expect(passed(name, "/d/x/docs")).toBe("/d/x/docs");
    expect(passed(name, "/d/xy")).toBe("/d/x/d/xy");
    expect(passed(name, "http://127.0.0.1:4000/docs")).toBe("/d/x/docs");
    expect(passed(name, "//elsewhere")).toBe("//elsewhere");
    expect(passed(name, "https://elsewhere.example/x")).toBe("https://elsewhere.example/x");
    expect(passed(name, "docs")).toBe("docs");
    expect(passed(name, "/docs", alone)).toBe("/docs");
  });

  it("leaves what the connection is about, and answers for other sites unless the project does", () => {
    const given = ["connection", "keep-alive, x-hop", "x-hop", "1", "access-control-allow-origin", "*"];
    expect(responseHeaders(given, shared)).toEqual(["content-security-policy", pageSandbox]);
    expect(responseHeaders(given, { ...shared, ownCors: true }).slice(0, 2)).toEqual(given.slice(4));
  });

  it("cannot lose its framing by the Connection header", () => {
    expect(responseHeaders(["connection", "content-length", "content-length", "5"], alone)).toEqual([
      "content-length",
      "5",
    ]);
  });

  it("speaks for the whole origin only where that is its own", () => {
    for (const name of [
      "service-worker-allowed",
      "clear-site-data",
      "strict-transport-security",
      "report-to",
      "reporting-endpoints",
      "nel",
      "public-key-pins",
      "alt-svc",
      "speculation-rules",
    ]) {
      expect(passed(name, "x")).toBeUndefined();
      expect(passed(name, "x", alone)).toBe("x");
    }
  });

  it("is sandboxed where it shares an origin, beside a policy of its own", () => {
    const given = ["content-type", "text/html", "content-security-policy", "default-src 'self'"];
    expect(responseHeaders(given, shared)).toEqual([...given, "content-security-policy", pageSandbox]);
    expect(responseHeaders(given, alone)).toEqual(given);
    expect(pageSandbox).not.toContain("same-origin");
  });
});

describe("a cookie of a deployment", () => {
  it.each([
    ["a=1", "a=1; Path=/d/x"],
    ["a=1; Path=/", "a=1; Path=/d/x"],
    ["a=1; path=/app; HttpOnly", "a=1; HttpOnly; Path=/d/x/app"],
    ["a=1; Path=/d/x/app", "a=1; Path=/d/x/app"],
    ["a=1; Path=/d/y", "a=1; Path=/d/x/d/y"],
    ["a=1; Path=/d/xy", "a=1; Path=/d/x/d/xy"],
    ["a=1; Path=/d/x; Path=/", "a=1; Path=/d/x"],
    ["a=1; Domain=example.com; Secure; SameSite=None", "a=1; Secure; SameSite=None; Path=/d/x"],
    ["a=1;DOMAIN = .example.com;PATH = /", "a=1; Path=/d/x"],
    ["a=1; Path", "a=1; Path=/d/x"],
  ])("%s becomes %s under a path", (given, kept) => {
    expect(passed("set-cookie", given)).toBe(kept);
  });

  it.each([
    "treadle_session=x",
    "  treadle_session=x",
    "Treadle_Session=x",
    "__Host-treadle_session=x; Path=/; Secure",
    "__Secure-treadle_session=x",
    "=treadle_session=x",
    "treadle_session",
  ])("%s is never set", (given) => {
    expect(passed("set-cookie", given)).toBeUndefined();
    expect(passed("set-cookie", given, alone)).toBeUndefined();
  });

  it("keeps its path, and no domain, on an origin of its own", () => {
    expect(passed("set-cookie", "a=1; Domain=agents.example.com; Path=/; HttpOnly", alone)).toBe(
      "a=1; HttpOnly; Path=/",
    );
    expect(passed("set-cookie", "a=1", alone)).toBe("a=1");
  });
});

it("says of referrers what the project says, unless the platform has to know the page by them", () => {
  expect(passed("referrer-policy", "no-referrer", alone)).toBe("no-referrer");
  const entered = { ...alone, refererPolicy };
  expect(passed("referrer-policy", "no-referrer", entered)).toBe("same-origin");
  expect(passed("referrer-policy", "origin", entered)).toBe("origin");
});
