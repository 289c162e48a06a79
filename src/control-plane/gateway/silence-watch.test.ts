import { afterEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import type { EndpointWay } from "./endpoint-ways.ts";
import { SilenceWatch } from "./silence-watch.ts";

let stop: (() => void) | undefined;
afterEach(() => stop?.());

/** Ways to machines that answer or do not, each with a request under way. */
function watching(hosts: string[]) {
  const ways = hosts.map((host) => {
    const endpoint = { key: host, instanceId: "i", name: host, host, port: 8000 };
    return { endpoint, count: 1, isHeard: false } as EndpointWay;
  });
  const wayTo = (host: string) => ways.find(({ endpoint }) => endpoint.host === host)!;
  const state = {
    silent: new Set<string>(),
    cut: [] as string[],
    asked: [] as string[],
    /** How many were asked before the first was cut. */
    askedFirst: 0,
    /** While it is looked at. */
    meanwhile: (_host: string): void => {},
    rounds: 0,
  };
  const watch = new SilenceWatch({
    everyMs: 5,
    ways: () => {
      state.rounds += 1;
      return ways;
    },
    cut: ({ endpoint }) => {
      state.askedFirst ||= state.asked.length;
      state.cut.push(endpoint.host);
    },
    isSilent: async ({ host }) => {
      state.asked.push(host);
      state.meanwhile(host);
      return state.silent.has(host);
    },
  });
  stop = () => watch.stop();
  watch.begin();
  const rounds = async (count: number) => {
    const until = state.rounds + count;
    await waitUntil(() => state.rounds >= until, { what: `${count} more rounds`, timeoutMs: 30_000 });
  };
  const isCut = (host: string) =>
    waitUntil(() => state.cut.includes(host), { what: `${host} to be cut`, timeoutMs: 30_000 });
  return { state, rounds, isCut, wayTo };
}

describe("requests to a silent machine", () => {
  it("are ended after three silences, where it is alone or others answer", async () => {
    const alone = watching(["10.0.0.1"]);
    alone.state.silent.add("10.0.0.1");
    await alone.isCut("10.0.0.1");
    stop?.();
    const several = watching(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    several.state.silent = new Set(["10.0.0.1", "10.0.0.2"]);
    await several.isCut("10.0.0.2");
    expect(several.state.askedFirst).toBe(9);
    expect(several.state.cut.slice(0, 2)).toEqual(["10.0.0.1", "10.0.0.2"]);
  });

  it("go on while all of several are silent, which is rather our own network; others count when they are heard", async () => {
    const { state, rounds, isCut, wayTo } = watching(["10.0.0.1", "10.0.0.2", "10.0.0.3", "127.0.0.1"]);
    wayTo("10.0.0.3").count = 0;
    state.silent = new Set(["10.0.0.1", "10.0.0.2"]);
    await rounds(8);
    expect(state.cut).toEqual([]);
    // One that has no request by now.
    state.meanwhile = () => {
      wayTo("10.0.0.3").isHeard = true;
    };
    await isCut("10.0.0.1");
    await isCut("10.0.0.2");
    expect(new Set(state.cut)).toEqual(new Set(["10.0.0.1", "10.0.0.2"]));
  });

  it("go on when something of it is heard while it is looked at", async () => {
    const { state, rounds, wayTo } = watching(["10.0.0.1"]);
    state.silent.add("10.0.0.1");
    // Each time that would be the third in a row.
    state.meanwhile = (host) => {
      if (state.asked.length % 3 === 0) wayTo(host).isHeard = true;
    };
    await rounds(16);
    expect(state.asked.length).toBeGreaterThan(6);
    expect(state.cut).toEqual([]);
  });
});
