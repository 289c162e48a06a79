import type { IncomingHttpHeaders } from "node:http";
import { describe, expect, it } from "vitest";
import { takeSocketKey } from "./socket-key.ts";

const encoded = (key: string) => `treadle.key.${Buffer.from(key).toString("base64url")}`;
const taken = (headers: IncomingHttpHeaders) => {
  takeSocketKey(headers);
  return headers;
};

describe("a key among the offered protocols", () => {
  it("becomes the key of the request and is offered no more", () => {
    const offered = `treadle.v1, ${encoded("tk_a+b/c=")}, other`;
    expect(taken({ "sec-websocket-protocol": offered })).toEqual({
      "sec-websocket-protocol": "treadle.v1, other",
      "x-api-key": "tk_a+b/c=",
    });
  });

  it("leaves nothing where it was alone", () => {
    expect(taken({ "sec-websocket-protocol": encoded("k") })).toEqual({ "x-api-key": "k" });
  });

  it("does not replace a key that came as a header", () => {
    const headers = { "sec-websocket-protocol": `${encoded("mine")},a`, "x-api-key": "yours" };
    expect(taken(headers)).toEqual({ "sec-websocket-protocol": "a", "x-api-key": "yours" });
  });

  it.each(["", "line\nbreak", "spaced out", "ü"])("is no key when it says %j", (key) => {
    expect(taken({ "sec-websocket-protocol": `a,${encoded(key)}` })).toEqual({
      "sec-websocket-protocol": "a",
    });
  });

  it("is not looked for where no protocol carries one", () => {
    expect(taken({ "sec-websocket-protocol": "a, b" })).toEqual({ "sec-websocket-protocol": "a, b" });
    expect(taken({})).toEqual({});
  });
});
