import { describe, expect, it } from "vitest";
import { isNavigation, isOfOwnPage, refererPolicy, returnPath } from "./page-request.ts";

const own = "https://a.agents.example.com";
const opens = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

describe("somebody opens a page", () => {
  it("by what the browser says of the request", () => {
    expect(isNavigation("GET", opens)).toBe(true);
    expect(isNavigation("HEAD", opens)).toBe(true);
    expect(isNavigation("POST", opens)).toBe(false);
    expect(isNavigation("GET", { ...opens, "sec-fetch-dest": "iframe" })).toBe(false);
    // A script may ask for HTML; the browser's headers show that it is a script.
    const script = { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty", accept: "text/html" };
    expect(isNavigation("GET", script)).toBe(false);
  });

  it("or by what it takes, where browsers say no more", () => {
    expect(isNavigation("GET", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" })).toBe(true);
    expect(isNavigation("GET", { accept: "application/json, text/html;q=0.5" })).toBe(true);
    for (const accept of ["*/*", "application/json", "text/htmlx", "x-text/html"])
      expect(isNavigation("GET", { accept }), accept).toBe(false);
    expect(isNavigation("GET", {})).toBe(false);
    expect(isNavigation("POST", { accept: "text/html" })).toBe(false);
  });
});

describe("with the page's cookie", () => {
  it("a change or a WebSocket has the page's own Origin", () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "CONNECT"]) {
      expect(isOfOwnPage(method, { origin: own }, own), method).toBe(true);
      for (const origin of [
        undefined,
        "null",
        "https://b.agents.example.com",
        "https://agents.example.com",
      ]) {
        const headers = origin === undefined ? {} : { origin };
        expect(isOfOwnPage(method, headers, own), `${method} ${origin}`).toBe(false);
        // Not even where the browser calls it one's own: only the Origin counts.
        expect(isOfOwnPage(method, { ...headers, "sec-fetch-site": "same-origin" }, own)).toBe(false);
      }
      expect(isOfOwnPage(method, { origin: "http://a.agents.example.com" }, own)).toBe(false);
      expect(isOfOwnPage(method, { origin: `${own}:8443` }, own)).toBe(false);
    }
  });

  it("a read is the page's own, the address bar's, or a followed link", () => {
    const reads = (headers: Record<string, string>) => isOfOwnPage("GET", headers, own);
    expect(reads({ "sec-fetch-site": "same-origin" })).toBe(true);
    expect(reads({ "sec-fetch-site": "none", ...opens })).toBe(true);
    expect(reads({ "sec-fetch-site": "cross-site", ...opens })).toBe(true);
    for (const site of ["same-site", "cross-site"]) {
      expect(reads({ "sec-fetch-site": site, "sec-fetch-mode": "no-cors" }), site).toBe(false);
      expect(reads({ "sec-fetch-site": site, ...opens, "sec-fetch-dest": "iframe" }), site).toBe(false);
    }
    expect(reads({ origin: "https://b.agents.example.com" })).toBe(false);
    expect(reads({ origin: own, "sec-fetch-site": "same-origin" })).toBe(true);
  });
});

describe("with the page's cookie, over plain http", () => {
  const plain = "http://a.agents.example.com:8080";
  const reads = (headers: Record<string, string>) => isOfOwnPage("GET", headers, plain);

  it("a read is the page's own by its Referer, or opens a page", () => {
    expect(reads({ referer: `${plain}/page?x`, accept: "*/*" })).toBe(true);
    expect(reads({ accept: "text/html,*/*" })).toBe(true);
    expect(reads({ accept: "*/*" })).toBe(false);
    for (const referer of [
      "http://b.agents.example.com:8080/",
      `${plain}0/`,
      "http://a.agents.example.com/",
      "a",
    ])
      expect(reads({ referer, accept: "*/*" }), referer).toBe(false);
  });

  it("a page that tells nobody where one comes from still tells its own server", () => {
    for (const policy of ["no-referrer", "NO-REFERRER", "origin, no-referrer "])
      expect(refererPolicy(policy)).toBe("same-origin");
    for (const policy of ["origin", "no-referrer, strict-origin", "no-referrer-when-downgrade", ""])
      expect(refererPolicy(policy)).toBe(policy);
  });
});

describe("where to go on afterwards", () => {
  it("is what was asked for", () => {
    for (const path of ["/", "/page", "/a/b?x=1&y=%2F%2F", "/~me/(x)!*'", "/a//b", "/?next=//evil.example"])
      expect(returnPath(path)).toBe(path);
  });

  it("never leads to another host, nor back to the entrance", () => {
    const wrong = [
      "//evil.example",
      "//evil.example/x?y",
      "/\\evil.example",
      "/\\/evil.example",
      "/x\\y",
      "/\t/evil.example",
      "/\n//evil.example",
      "/./\n/evil.example",
      "/.//evil.example",
      "/x/..//evil.example",
      "https://evil.example",
      "javascript:alert(1)",
      "",
      "/ü",
      "/.treadle/enter?code=x",
    ];
    for (const path of wrong) expect(returnPath(path), path).toBe("/");
  });

  it("leaves out a query that is too long for an address, or all of it", () => {
    expect(returnPath(`/page?${"x".repeat(2_000)}`)).toBe("/page");
    expect(returnPath(`/${"x".repeat(2_000)}`)).toBe("/");
  });
});
