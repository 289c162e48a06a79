import { describe, expect, it } from "vitest";
import { chooseContainerUser } from "./container.ts";
import { containerEnvironment, relayTargets } from "./environment.ts";
import { bridgeName, chooseSubnet, isSubnetRange } from "./network.ts";
import { isServed } from "./platform-relay.ts";

describe("the platform's API for deployed code", () => {
  it.each([
    "/api/v1/runs/multipart",
    "/v2/auth/authenticate?x=/../y",
    "/v1/integrations/github",
    "/api-host/v2/x",
  ])("serves %s", (path) => expect(isServed(path)).toBe(true));
  it.each([
    ...["/threads/search", "/", "", "/api/v1", "/v2/../threads", "/v2/%2e%2e/threads", "/v2/.%2E/threads"],
    ...[
      "//evil/v2/",
      "/v2/..\\threads",
      "http://127.0.0.1:8124/threads",
      "/api/v1/../../runs",
      "/d/slug/x",
      "*",
    ],
  ])("does not serve %s", (path) => expect(isServed(path)).toBe(false));
});

describe("the network of a deployment", () => {
  it("lies in the range, always at the same place, and elsewhere with each attempt", () => {
    const first = chooseSubnet("10.231.0.0/16", "a", 0);
    expect(first).toEqual(chooseSubnet("10.231.0.0/16", "a", 0));
    const many = new Set(Array.from({ length: 64 }, (_, i) => chooseSubnet("10.231.0.0/16", "a", i).subnet));
    expect(many.size).toBe(64);
    for (const subnet of many) expect(subnet).toMatch(/^10\.231\.\d{1,3}\.\d{1,3}\/28$/);
    expect(chooseSubnet("192.168.64.0/24", "b", 3).gateway).toMatch(/^192\.168\.64\.\d+$/);
    expect(bridgeName("some deployment")).toMatch(/^trd-[0-9a-f]{11}$/);
  });

  it("is taken from a range that is one", () => {
    for (const text of ["10.231.0.0/16", "172.20.0.0/14", "10.0.0.0/8", "192.168.64.0/24"])
      expect([text, isSubnetRange(text)]).toEqual([text, true]);
    for (const text of [
      "10.231.0.0",
      "10.231.0.1/16",
      "10.231.0.0/28",
      "0.0.0.0/0",
      "300.0.0.0/8",
      "fd00::/8",
    ])
      expect([text, isSubnetRange(text)]).toEqual([text, false]);
  });
});

describe("the environment of a container", () => {
  const reach = {
    databaseUrl: "postgres://p:q@localhost:5433/x",
    platformUrl: () => "http://127.0.0.1:8124",
  };
  const given = {
    ...{ PATH: "/bin", HOME: "/root", DATABASE_URL: "postgres://a:b@localhost:5433/own?x=1" },
    ...{
      POSTGRES_URI: "postgres://a:b@db.example.com:5433/own",
      LANGSMITH_ENDPOINT: "http://127.0.0.1:8124/api/v1",
    },
    ...{
      MODEL: "http://127.0.0.1:11434/v1",
      TREADLE_PUBLIC_URL: "http://127.0.0.1:8124/d/x",
      TREADLE_HOST: "127.0.0.1",
    },
  };

  it("names this machine's own services by the doors of the network, and nothing else", () => {
    expect(containerEnvironment(given, "10.1.2.1", relayTargets(reach), { isImage: true })).toEqual({
      DATABASE_URL: "postgres://a:b@10.1.2.1:15432/own?x=1",
      POSTGRES_URI: "postgres://a:b@db.example.com:5433/own",
      LANGSMITH_ENDPOINT: "http://10.1.2.1:18124/api/v1",
      MODEL: "http://127.0.0.1:11434/v1",
      TREADLE_PUBLIC_URL: "http://127.0.0.1:8124/d/x",
      TREADLE_ALLOW_PRIVATE_ADDRESSES: "true",
      ...{ HOME: "/home/agent", TMPDIR: "/tmp", TREADLE_HOST: "0.0.0.0", HOST: "0.0.0.0" },
    });
  });

  it("opens no door to what a container reaches by itself", () => {
    const away = {
      databaseUrl: "postgres://p:q@db.example.com/x",
      platformUrl: () => "https://treadle.example.com",
    };
    expect(relayTargets(away)).toEqual({ database: null, platform: null });
    expect(relayTargets(undefined)).toEqual({ database: null, platform: null });
  });
});

describe("the user of a container", () => {
  const own = { uid: 300_001, gid: 300_001 };
  it.each([
    ...[
      ["", own],
      ["root", own],
      ["0", own],
      ["0:5", own],
      ["node", own],
      ["000", own],
    ],
    ...[
      ["1234", { uid: 1234, gid: 1234 }],
      ["1234:55", { uid: 1234, gid: 55 }],
      ["1234:0", { uid: 1234, gid: 300_001 }],
    ],
  ] as const)("for an image that asks for %j", (imageUser, expected) => {
    expect(chooseContainerUser(own, { imageUser, isImage: true, allowRoot: false })).toEqual(expected);
  });
  it("is the image's own where the operator allows it, and never for what was built here", () => {
    expect(chooseContainerUser(own, { imageUser: "", isImage: true, allowRoot: true })).toBe("of the image");
    expect(chooseContainerUser(own, { imageUser: "", isImage: false, allowRoot: true })).toEqual(own);
  });
});
