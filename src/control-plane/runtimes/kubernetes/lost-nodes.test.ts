import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../../../tests/support/components/wait-until.ts";
import { createLogger } from "../../../platform/logger.ts";
import type { KubernetesCall } from "./api.ts";
import { LostNodes } from "./lost-nodes.ts";
import type { Pod } from "./pods.ts";
import { KubernetesRefusal } from "./refusal.ts";

const refusal = (status: number) =>
  new KubernetesRefusal({ method: "GET", path: "/" }, { status, reason: "", message: "" });

let unwatch: () => void;
afterEach(() => unwatch?.());

function pod(name: string, node: string, { ready = true, deleted = false } = {}): Pod {
  return {
    metadata: {
      ...{ name, namespace: "n", uid: `u-${name}`, resourceVersion: "1" },
      ...(deleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { nodeName: node, containers: [{ name: "server", ports: [{ containerPort: 8000 }] }] },
    status: { podIP: name, conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}

/** A cluster whose nodes, kubelets and API server answer or do not: a real one is in tests/kubernetes/node-loss.test.ts. */
function cluster(pods: Pod[]) {
  const state = {
    /** Pods that take connections. */
    answering: new Set(pods.map(({ metadata }) => metadata.name)),
    kubelet: async (_call: KubernetesCall): Promise<PassThrough> => Promise.reject(refusal(500)),
    api: async (): Promise<object> => ({}),
    done: [] as string[],
    asked: [] as string[],
    rounds: 0,
  };
  const lost = new LostNodes({
    logger: createLogger({ level: "silent" }),
    times: { everyMs: 5, againMs: 5, connectMs: 5, answerMs: 100 },
    isSilent: async ({ host, port }) => {
      state.asked.push(`${host}:${port}`);
      return !state.answering.has(host);
    },
    pods: () => {
      state.rounds += 1;
      return pods.filter(({ metadata }) => !state.done.includes(`remove ${metadata.name} ${metadata.uid}`));
    },
    api: {
      open: (call: KubernetesCall) => state.kubelet(call),
      get: () => state.api(),
      patch: async (path: string, body: object) => {
        state.done.push(`mark ${path.split("/").at(-1)} ${JSON.stringify(body)}`);
        return null;
      },
      remove: async (path: string, { uid }: { uid?: string } = {}) => {
        state.done.push(`remove ${path.split("/").at(-1)} ${uid}`);
        return true;
      },
    } as never,
  });
  unwatch = lost.watch();
  const rounds = async (count: number) => {
    const until = state.rounds + count;
    await waitUntil(() => state.rounds >= until, { what: `${count} more rounds`, timeoutMs: 30_000 });
  };
  return { state, rounds };
}

describe("pods on a node that is lost", () => {
  it("are marked and removed, whether they served or were on their way", async () => {
    const { state, rounds } = cluster([
      ...[pod("a", "one"), pod("b", "one", { ready: false }), pod("c", "two")],
      pod("d", "one", { deleted: true }),
    ]);
    await rounds(3);
    expect(state.done).toEqual([]);
    state.answering.delete("a");
    await waitUntil(() => state.done.length === 4, { what: "both to be replaced", timeoutMs: 30_000 });
    const mark = (name: string) =>
      `mark ${name} {"metadata":{"uid":"u-${name}","labels":{"treadle.dev/lost":"true"}}}`;
    expect([...state.done].sort()).toEqual([mark("a"), mark("b"), "remove a u-a", "remove b u-b"]);
    await rounds(3);
    expect(state.done).toHaveLength(4);
  });

  it("are one connection for each node while all is well", async () => {
    const { state, rounds } = cluster([pod("a", "one"), pod("b", "one"), pod("c", "two")]);
    await rounds(3);
    expect(new Set(state.asked)).toEqual(new Set(["a:8000", "c:8000"]));
  });
});

describe("nothing is replaced", () => {
  const two = () => [pod("a", "one"), pod("b", "one"), pod("c", "two")];
  type State = ReturnType<typeof cluster>["state"];

  it.each<[string, (state: State) => void]>([
    ["while another pod of the node takes connections", (state) => state.answering.delete("a")],
    [
      "while the kubelet of the node answers",
      (state) => {
        state.answering = new Set(["c"]);
        state.kubelet = async () => new PassThrough();
      },
    ],
    [
      "while the kubelet answers that it has no such container",
      (state) => {
        state.answering = new Set(["c"]);
        state.kubelet = () => Promise.reject(refusal(400));
      },
    ],
    [
      "while the API server does not answer either",
      (state) => {
        state.answering = new Set(["c"]);
        state.api = () => Promise.reject(new Error("away"));
      },
    ],
    ["when every node is silent: that is the network of the platform", (state) => state.answering.clear()],
  ])("%s", async (_when, change) => {
    const { state, rounds } = cluster(two());
    change(state);
    await rounds(8);
    expect(state.done).toEqual([]);
  });

  it("when a node is silent for a moment", async () => {
    const { state, rounds } = cluster(two());
    let turns = 0;
    state.answering.has = (name: string) => {
      if (name === "a") turns += 1;
      return name === "c" || (name === "a" && turns % 3 === 0);
    };
    await rounds(12);
    expect(turns).toBeGreaterThan(3);
    expect(state.done).toEqual([]);
  });
});
