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
    ["/d/my-agent/v%2e1/a%2fb", "/v%2e1/a%2fb"],
    // A client that follows a Location from the address it knows.
    ["/d/my-agent/d/my-agent/threads/1/runs/2/stream?x=1", "/threads/1/runs/2/stream?x=1"],
    ["/d/my-agent/d/another/x", "/d/another/x"],
  ])("%s means %s", (url, target) => {
    expect(parseGatewayPath(url)).toMatchObject({ slug: "my-agent", prefix: "/d/my-agent", target });
  });

  it.each([
    "/threads",
    "/d",
    "/d/",
    "/docs",
    "/x/d/y",
    "/v2/../threads",
    "http://host/threads",
    "*",
    undefined,
  ])("%s is left to others", (url) => {
    expect(parseGatewayPath(url)).toBeNull();
  });

  it.each([
    "/d/a b/x",
    "/d/x/../threads/search",
    "/d/x/../../v2/deployments",
    "/d/x/%2e%2e/%2e%2e/v2/deployments",
    "/d/x/.%2E/v2",
    "/d/../v2/deployments",
    "/d/x/..%2f..%2fv2/deployments",
    "/d/x/..%5c..%5cv2/deployments",
    "/d/x/..\\..\\v2\\deployments",
    "/d\\x\\..\\..\\v2\\deployments",
    "\\d\\x\\..\\..\\v2",
    "//d/x/../../v2",
    "/\\d/x",
    "/d/x/runs/wait/%2e%2E/search",
    "/d/x/.",
    "/d/x/runs/wait#/search",
    "/d/x/runs\\wait",
    "http://host/d/x/../../v2/deployments",
    "http:\\\\host\\d\\x",
  ])("%s is refused: it could be read in two ways", (url) => {
    expect(parseGatewayPath(url)).toBe("refused");
  });
});

describe("the paths of a deployment with a host of its own", () => {
  it.each([
    ["/", "/"],
    ["/page?x=1", "/page?x=1"],
    ["/v2/deployments", "/v2/deployments"],
    ["/d/another/x", "/d/another/x"],
  ])("%s means %s", (url, target) => {
    expect(parseGatewayPath(url, "mine")).toMatchObject({ slug: "mine", prefix: "", target });
  });

  it.each(["/../x", "/a/%2e%2e/b", "/a\\b", "/a#b", "http://host/x", "*"])("%s is refused", (url) => {
    expect(parseGatewayPath(url, "mine")).toBe("refused");
  });
});
