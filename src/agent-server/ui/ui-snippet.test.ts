import { describe, expect, test } from "vitest";
import type { UiBundle } from "./ui-bundle.ts";
import { baseUrlOf, inlineSnippet, isOfThisSite, linkedSnippet } from "./ui-snippet.ts";

const file = (name: string, text: string) => ({ name, text, contentType: "", etag: "" });
const bundle: UiBundle = {
  script: file("entrypoint.js", 'var html = "</script><!-- -->";'),
  style: file("entrypoint.css", 'a::before { content: "</style>"; }'),
};
const plain: UiBundle = { script: file("entrypoint.js", "var a;"), style: undefined };

describe("tags with addresses", () => {
  test("are those the client expects", () => {
    const options = { name: "agent-alias", component: "weather-component", bundle };
    expect(linkedSnippet(options, "http://localhost:2024")).toBe(
      `<link rel="stylesheet" href="http://localhost:2024/ui/agent-alias/entrypoint.css" />
<script src="http://localhost:2024/ui/agent-alias/entrypoint.js" onload='__LGUI_agent_alias.render("weather-component", "{{shadowRootId}}")'></script>`,
    );
  });

  test("stay tags, whatever the names are", () => {
    const options = { name: `a"b/<`, component: `'></script><b a="&`, bundle: plain };
    expect(linkedSnippet(options, "//host")).toBe(
      `<script src="//host/ui/a%22b%2F%3C/entrypoint.js" onload='__LGUI_a_b__.render("&#39;>\\u003c/script>\\u003cb a=\\"&amp;", "{{shadowRootId}}")'></script>`,
    );
  });
});

test("files in the answer end where they should", () => {
  expect(inlineSnippet({ name: "a", component: "</script>", bundle })).toBe(
    `<style>a::before { content: "<\\/style>"; }</style>
<script>var html = "<\\/script><\\!-- -->";
__LGUI_a.render("\\u003c/script>", "{{shadowRootId}}");</script>`,
  );
});

describe("where a page reaches the server", () => {
  test.each([
    [{ host: "localhost:2024" }, "", "http://localhost:2024"],
    [{ host: "agents.example.com" }, "", "//agents.example.com"],
    [{ host: "127.0.0.1:2024" }, "/agents/", "http://127.0.0.1:2024/agents"],
    [
      {
        host: "127.0.0.1:40001",
        "x-forwarded-host": "treadle.example.com",
        "x-forwarded-proto": "https",
        "x-forwarded-prefix": "/d/weather",
      },
      "",
      "https://treadle.example.com/d/weather",
    ],
  ])("%j", (headers, prefix, url) => {
    expect(baseUrlOf(new Headers(headers as Record<string, string>), "127.0.0.1", prefix)).toBe(url);
  });
});

test.each([
  [{}, true],
  [{ origin: "http://localhost:3000" }, true],
  [{ origin: "http://127.0.0.1:3000" }, false],
  [{ origin: "https://localhost:3000" }, false],
  [{ origin: "null" }, false],
  [{ "x-forwarded-origin": "https://chat.example.com" }, false],
])("a page of the same site: %j", (headers, expected) => {
  const all = new Headers({ host: "localhost:2024", ...headers } as Record<string, string>);
  expect(isOfThisSite(all, "localhost")).toBe(expected);
});
