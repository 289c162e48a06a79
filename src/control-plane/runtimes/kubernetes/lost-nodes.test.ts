import { PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../../../tests/support/components/wait-until.ts";
import { createLogger } from "../../../platform/logger.ts";
import type { KubernetesCall } from "./api.ts";
import { LostNodes } from "./lost-nodes.ts";
import type { Pod } from "./pods.ts";
import { KubernetesRefusal } from "./refusal.ts";

const refusal = (status: number, reason = "") =>
  new KubernetesRefusal({ method: "GET", path: "/" }, { status, reason, message: "" });
/** In the words of Kubernetes 1.34: it did not reach the kubelet. */
const silence = () => Promise.reject(refusal(500));
const answer = async () => new PassThrough();

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
    /** Of the first node; those of others answer. */
    kubelet: (_signal: AbortSignal): Promise<PassThrough> => silence(),
    otherKubelets: (_pod: string): Promise<PassThrough> => answer(),
    api: async (): Promise<object> => ({}),
    builds: [] as Pod[],
    listBuilds: async (): Promise<Pod[]> => state.builds,
    removals: "work" as "work" | "fail",
    done: [] as string[],
    asked: [] as string[],
    /** What was asked before the first pod was marked. */
    askedFirst: null as string[] | null,
    rounds: 0,
  };
  const ask = ({ path, signal }: KubernetesCall) => {
    const { metadata, spec } = pods.find((pod) => path.endsWith(`/pods/${pod.metadata.name}/log`))!;
    return spec!.nodeName === "one" ? state.kubelet(signal!) : state.otherKubelets(metadata.name);
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
    builds: () => state.listBuilds(),
    api: {
      open: ask,
      get: () => state.api(),
      patch: async (path: string, body: object) => {
        state.askedFirst ??= [...state.asked];
        const { labels } = (body as Pod).metadata;
        const { metadata } = [...pods, ...state.builds].find((pod) =>
          path.endsWith(`/pods/${pod.metadata.name}`),
        )!;
        metadata.labels = labels!["treadle.dev/lost"] === null ? {} : labels!;
        state.done.push(`mark ${path.split("/").at(-1)} ${JSON.stringify(body)}`);
        return null;
      },
      remove: async (path: string, { uid }: { uid?: string } = {}) => {
        if (state.removals === "fail") throw new Error("away");
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
  const replaced = (count: number) =>
    waitUntil(() => state.done.length === 2 * count, { what: `${count} to be replaced`, timeoutMs: 30_000 });
  return { state, rounds, replaced, lost };
}

describe("pods on a node that is lost", () => {
  it("are marked and removed, whether they served or were on their way", async () => {
    const { state, rounds, replaced } = cluster([
      ...[pod("a", "one"), pod("b", "one", { ready: false }), pod("c", "two")],
      pod("d", "one", { deleted: true }),
    ]);
    await rounds(3);
    expect(state.done).toEqual([]);
    state.answering.delete("a");
    await replaced(2);
    const mark = (name: string) =>
      `mark ${name} {"metadata":{"uid":"u-${name}","labels":{"treadle.dev/lost":"true"}}}`;
    expect([...state.done].sort()).toEqual([mark("a"), mark("b"), "remove a u-a", "remove b u-b"]);
    await rounds(3);
    expect(state.done).toHaveLength(4);
  });

  it("are replaced also where there is no other node to compare with", async () => {
    const { state, replaced } = cluster([pod("a", "one"), pod("e", "three", { ready: false })]);
    state.answering.clear();
    await replaced(1);
  });

  it("are replaced when the API server itself waits for the kubelet", async () => {
    const { state, replaced } = cluster([pod("a", "one"), pod("c", "two")]);
    state.kubelet = (signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    state.answering.delete("a");
    await replaced(1);
  });

  it("are replaced while one of the other kubelets does not answer either", async () => {
    const { state, replaced } = cluster([pod("a", "one"), pod("c", "two"), pod("e", "three")]);
    state.otherKubelets = (name) => (name === "c" ? silence() : answer());
    state.answering.delete("a");
    await replaced(1);
  });

  it("are replaced by the one who looks now, who has counted for himself", async () => {
    const { state, replaced, lost } = cluster([pod("a", "one"), pod("c", "two")]);
    const questions: PromiseWithResolvers<PassThrough>[] = [];
    state.kubelet = () => {
      const question = Promise.withResolvers<PassThrough>();
      questions.push(question);
      return question.promise;
    };
    const questionsAre = (count: number) =>
      waitUntil(() => questions.length === count, { what: `question ${count}`, timeoutMs: 30_000 });
    state.answering.delete("a");
    await questionsAre(1);
    unwatch();
    state.asked = [];
    unwatch = lost.watch();
    questions[0]!.reject(refusal(500));
    // Whatever follows from that needs no timer.
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.done).toEqual([]);
    await questionsAre(2);
    questions[1]!.reject(refusal(500));
    await replaced(1);
    expect(state.askedFirst!.filter((name) => name === "a:8000")).toHaveLength(3);
  });

  it("go together with the builds there, but for those that have ended", async () => {
    const { state, rounds, replaced } = cluster([pod("a", "one"), pod("c", "two")]);
    const ended = pod("done", "one");
    ended.status!.phase = "Succeeded";
    state.builds.push(pod("build", "one", { ready: false }), ended, pod("elsewhere", "two"));
    state.answering.delete("a");
    await replaced(2);
    await rounds(3);
    const removed = state.done.filter((each) => each.startsWith("remove")).sort();
    expect(removed).toEqual(["remove a u-a", "remove build u-build"]);
  });

  it("are replaced also when builds cannot be listed", async () => {
    const { state, replaced } = cluster([pod("a", "one"), pod("c", "two")]);
    state.listBuilds = () => Promise.reject(new Error("away"));
    state.answering.delete("a");
    await replaced(1);
  });

  it("lose the mark when they could not be deleted before the node was back", async () => {
    const pods = [pod("a", "one"), pod("c", "two")];
    const { state, rounds } = cluster(pods);
    state.removals = "fail";
    state.answering.delete("a");
    const isMarked = () => pods[0]!.metadata.labels?.["treadle.dev/lost"] === "true";
    await waitUntil(isMarked, { what: "the mark", timeoutMs: 30_000 });
    state.answering.add("a");
    await waitUntil(() => !isMarked(), { what: "the end of the mark", timeoutMs: 30_000 });
    const done = state.done.length;
    expect(state.done.at(-1)).toBe('mark a {"metadata":{"uid":"u-a","labels":{"treadle.dev/lost":null}}}');
    await rounds(3);
    expect(state.done).toHaveLength(done);
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
  /** For longer than anybody waits for a kubelet; the answer comes a moment later. */
  const standStill = async (signal: AbortSignal) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
    await delay(10, undefined, { signal }).catch(() => signal.throwIfAborted());
    return new PassThrough();
  };

  it.each<[string, (state: State) => void]>([
    ["while another pod of the node takes connections", (state) => state.answering.delete("a")],
    ...(
      [
        ["while the kubelet of the node answers", answer],
        ["while the kubelet has no such container", () => Promise.reject(refusal(400))],
        ["while the kubelet fails: it is there", () => Promise.reject(refusal(500, "InternalError"))],
        ["while connections to the API server end", () => Promise.reject(new Error("reset"))],
        ["after this process stood still, which is no silence of a kubelet", standStill],
      ] as const
    ).map(([when, kubelet]): [string, (state: State) => void] => [
      when,
      (state) => {
        state.answering = new Set(["c"]);
        state.kubelet = kubelet;
      },
    ]),
    [
      "while the API server reaches no kubelet",
      (state) => {
        state.answering = new Set(["c"]);
        state.otherKubelets = silence;
      },
    ],
    ["when every node is silent: that is the network of the platform", (state) => state.answering.clear()],
  ])("%s", async (_when, change) => {
    const { state, rounds } = cluster(two());
    change(state);
    await rounds(8);
    expect(state.done).toEqual([]);
  });

  it("while the API server does not answer, and there is no other node", async () => {
    const { state, rounds } = cluster([pod("a", "one")]);
    state.answering.clear();
    state.api = () => Promise.reject(new Error("away"));
    await rounds(8);
    expect(state.done).toEqual([]);
  });

  it.each<[string, Pod[]]>([
    ["when more than half of the nodes are silent", [pod("a", "one"), pod("c", "two"), pod("e", "three")]],
    ["when all are that were asked", [pod("a", "one"), pod("c", "two"), pod("e", "three", { ready: false })]],
  ])("%s", async (_when, pods) => {
    const { state, rounds } = cluster(pods);
    state.answering = new Set(["e"]);
    state.otherKubelets = (name) => (name === "e" ? answer() : silence());
    await rounds(8);
    expect(state.done).toEqual([]);
  });

  it("for silences that were those of our own network", async () => {
    const { state, rounds, replaced } = cluster(two());
    state.answering.clear();
    await rounds(5);
    state.answering.add("c");
    state.asked = [];
    await replaced(2);
    expect(state.askedFirst!.filter((name) => name === "a:8000")).toHaveLength(3);
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
