import { describe, expect, it } from "vitest";
import { parseGatewayPath } from "./gateway-path.ts";

describe("the gateway's paths", () => {
  it.each([
    ["/d/my-agent", "/"],
    ["/d/my-agent/", "/"],
    ["/d/my-agent?x=1", "/?x=1"],
    ["/d/my-agent/threads/1/runs?a=/../b", "/threads/1/runs?a=/../b"],
    ["/d/my-agent/.well-known/x", "/.well-known/x"],
    ["/d/my-agent/a...b/..c", "/a...b/..c"],
    ["/d/my-agent/a%20b", "/a%20b"],
  ])("%s means %s", (url, target) => {
    expect(parseGatewayPath(url)).toMatchObject({ slug: "my-agent", prefix: "/d/my-agent", target });
  });

  it.each([
    "/threads",
    "/d/",
    "/d/a b/x",
    "/d/x/../threads/search",
    "/d/x/runs/wait/%2e%2E/search",
    "/d/x/.",
    "/d/x/runs/wait#/search",
    "/d/x/runs\\wait",
    "http://host/d/x/y",
    undefined,
  ])("%s is left to others", (url) => {
    expect(parseGatewayPath(url)).toBeNull();
  });
});
