import { describe, expect, it } from "vitest";
import { PathRouter, routerPath } from "./path-router.ts";

/** Every order of the same routes must answer alike. */
function routers(paths: string[]): PathRouter<string>[] {
  return [paths, paths.toReversed(), paths.toSorted()].map((order) => {
    const router = new PathRouter<string>();
    for (const path of order) router.add("GET", routerPath(path), path);
    return router;
  });
}

const paths = [
  "/",
  "/threads",
  "/threads/search",
  "/threads/{id}",
  "/threads/{id}/runs/{run}",
  "/threads/{thread}/runs/stream",
  "/threads/search/{what}",
  "/{area}/known/leaf",
  "/d/{slug}/{rest*}",
  "/d/special/{rest*}",
];

describe("PathRouter", () => {
  it.each([
    ["/", "/", {}],
    ["/threads", "/threads", {}],
    ["/threads/", "/threads", {}],
    ["/threads/search", "/threads/search", {}],
    ["/threads/se%61rch", "/threads/search", {}],
    ["/threads/1", "/threads/{id}", { id: "1" }],
    ["/threads/1/runs/stream", "/threads/{thread}/runs/stream", { thread: "1" }],
    ["/threads/1/runs/2", "/threads/{id}/runs/{run}", { id: "1", run: "2" }],
    ["/threads/search/runs/2", "/threads/{id}/runs/{run}", { id: "search", run: "2" }],
    ["/threads/search/x", "/threads/search/{what}", { what: "x" }],
    ["/threads/known/leaf", "/{area}/known/leaf", { area: "threads" }],
    ["/d/a", "/d/{slug}/{rest*}", { slug: "a", "*": "" }],
    ["/d/a/", "/d/{slug}/{rest*}", { slug: "a", "*": "" }],
    ["/d/a/b/c%20d/", "/d/{slug}/{rest*}", { slug: "a", "*": "b/c%20d/" }],
    ["/d/a//b", "/d/{slug}/{rest*}", { slug: "a", "*": "/b" }],
    ["/d/special/x", "/d/special/{rest*}", { "*": "x" }],
  ])("%s goes to %s", (path, expected, params) => {
    for (const router of routers(paths)) expect(router.match("GET", path)).toEqual([[[expected, params]]]);
  });
  it.each(["/nothing", "/threads//runs/2", "/threads/1/runs", "/threads/1/runs/2/3"])(
    "%s goes nowhere",
    (path) => {
      for (const router of routers(paths)) expect(router.match("GET", path)).toEqual([[]]);
    },
  );
  it("lists the methods of a path over all routes that fit it", () => {
    const router = new PathRouter<string>();
    router.add("GET", "/a/:id", "x");
    router.add("POST", "/a/search", "x");
    router.add("DELETE", "/*", "x");
    expect(router.methodsAt("/a/search")).toEqual(["DELETE", "GET", "POST"]);
    expect(router.methodsAt("/a/1")).toEqual(["DELETE", "GET"]);
    expect(router.match("GET", "/a/search")).toEqual([[["x", { id: "search" }]]]);
  });
  it("refuses what it cannot route", () => {
    const router = new PathRouter<string>();
    router.add("GET", "/a/:id", "x");
    expect(() => router.add("GET", "/a/:other", "x")).toThrow("registered twice");
    expect(() => router.add("GET", "/*/b", "x")).toThrow("last segment");
  });
});
