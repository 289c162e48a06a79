import { describe, expect, it } from "vitest";
import { routeMatcher } from "./app-routes.ts";

const http = (path: string) => ({ path, methods: ["GET"], kind: "http" as const });

describe("the routes of an application", () => {
  const matches = routeMatcher([
    http("/hello"),
    http("/items/{item_id}"),
    http("/numbers/{n:int}/next"),
    http("/files/{rest:path}"),
    http("/a.b"),
    http("/docs"),
    { path: "/static", methods: null, kind: "mount" },
    { path: "/socket", methods: null, kind: "websocket" },
  ]);

  it.each([
    ["/hello", true],
    ["/hello/", false],
    ["/items/1", true],
    ["/items/1/2", false],
    ["/numbers/12/next", true],
    ["/numbers/x/next", false],
    ["/files/a/b/c", true],
    ["/a.b", true],
    ["/axb", false],
    ["/static", true],
    ["/static/page.css", true],
    ["/statics", false],
    // The server has its own.
    ["/docs", false],
    ["/threads", false],
    ["/socket", false],
  ])("%s: %s", (path, expected) => {
    expect(matches(path)).toBe(expected);
  });
});
