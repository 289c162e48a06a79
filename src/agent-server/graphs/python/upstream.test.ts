import { duplexPair } from "node:stream";
import { describe, expect, it } from "vitest";
import { FramePeer } from "../../../../tests/support/frame-peer.ts";
import { PythonChannel } from "./python-channel.ts";
import { Upstream } from "./upstream.ts";

/** The server's own fetch, as Python sees it. */
function connect() {
  const [near, far] = duplexPair();
  const seen: string[] = [];
  const answer = (who: string) => async (request: Request) => {
    const url = new URL(request.url);
    seen.push(`${who} ${request.method} ${url.pathname}${url.search} host=${request.headers.get("host")}`);
    const body = request.body ? await request.text() : "nothing";
    return new Response(`got ${body}`, { status: 201, headers: { "x-who": who } });
  };
  const upstream = new Upstream({ callServer: answer("server"), passOn: answer("routes") });
  new PythonChannel({
    socket: near,
    handlers: {
      unary: {},
      streaming: { upstream: (request, stream) => upstream.answer(request, stream) },
      noted: {},
    },
    onProtocolError: ({ message }) => expect.fail(message),
  });
  return { peer: new FramePeer(far), upstream, seen };
}

const request = (more: object = {}) => ({
  httpMethod: "GET",
  path: "/threads/ä",
  query: "a=1",
  headers: [
    ["host", "langgraph"],
    ["x-a", "b"],
  ],
  ...more,
});

describe("a request of Python's own code", () => {
  it("reaches the server, with its query and without the host it made up", async () => {
    const { peer, seen } = connect();
    const [head, ...body] = await peer.stream("upstream", request());
    expect(head!.meta).toMatchObject({ status: 201 });
    expect(head!.meta.headers).toContainEqual(["x-who", "server"]);
    expect(body.map(({ texts }) => texts[0]).join("")).toBe("got nothing");
    expect(seen).toEqual(["server GET /threads/%C3%A4?a=1 host=null"]);
  });

  it("has the body that is sent along", async () => {
    const { peer } = connect();
    const [, ...body] = await peer.stream("upstream", request({ httpMethod: "POST" }), ["one ", "two"]);
    expect(body.map(({ texts }) => texts[0]).join("")).toBe("got one two");
  });
});

describe("a request that the application passes on", () => {
  it("reaches the server's own routes alone, as it came", async () => {
    const { peer, seen } = connect();
    const passed = request({ passThrough: true, rawPath: "/a%2Fb", for: 5 });
    const [head] = await peer.stream("upstream", passed);
    expect(head!.meta.headers).toContainEqual(["x-who", "routes"]);
    expect(seen).toEqual(["routes GET /a%2Fb?a=1 host=langgraph"]);
  });

  it("is not found where it was meant for the application alone", async () => {
    const { peer, upstream, seen } = connect();
    upstream.refuse(5);
    const [head] = await peer.stream("upstream", request({ passThrough: true, for: 5 }));
    expect(head!.meta).toMatchObject({ status: 404 });
    expect(seen).toEqual([]);
  });
});
