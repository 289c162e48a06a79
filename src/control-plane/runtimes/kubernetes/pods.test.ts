import { describe, expect, test } from "vitest";
import { fetchContainer, serverContainer } from "./objects.ts";
import {
  type Condition,
  type ContainerStatus,
  type Judging,
  judge,
  type OwnDeployment,
  type Pod,
} from "./pods.ts";

const megabyte = 1024 * 1024;
const metadata = (name: string) => ({ name, namespace: "agents", uid: `uid-${name}`, resourceVersion: "1" });
const image = "registry.example.com/agent:1";

function deployment(replicas = 1, conditions: Condition[] = []): OwnDeployment {
  return { metadata: metadata("t-1"), spec: { replicas }, status: { conditions } };
}

function pod(status: Pod["status"], name = "pod-1"): Pod {
  return { metadata: metadata(name), status: { podIP: "10.0.0.7", ...status } };
}

const server = (status: Partial<ContainerStatus>) => ({
  containerStatuses: [{ name: serverContainer, image, ...status }],
});
const fetcher = (status: Partial<ContainerStatus>) => ({
  initContainerStatuses: [{ name: fetchContainer, image, ...status }],
});
const isReady: Condition[] = [{ type: "Ready", status: "True" }];
const waits = (reason: string, message?: string) => ({
  state: { waiting: { reason, ...(message ? { message } : {}) } },
});
const ended = (exitCode: number, reason = "Error", message = "") => ({ exitCode, reason, message });

type Given = {
  references?: string[];
  deployment?: OwnDeployment;
  pullFailedMs?: number;
  min?: number;
  max?: number;
};

function look(pods: Pod[], given: Given = {}) {
  const judging: Judging = {
    port: 8000,
    memoryBytes: 256 * megabyte,
    scale: { min: given.min ?? 1, max: given.max ?? given.min ?? 1 },
    references: given.references ?? [],
    pullFailedMs: () => given.pullFailedMs ?? 0,
  };
  return judge(given.deployment ?? deployment(), pods, judging);
}

describe("what waits", () => {
  test("a key that a Secret does not have, with where to add it", () => {
    const lacks = waits("CreateContainerConfigError", "couldn't find key openai in Secret agents/keys");
    const { problem, end } = look([pod(server(lacks))], { references: ["keys/openai"] });
    expect(problem).toBe(
      "its pod waits: couldn't find key openai in Secret agents/keys. If one of its secret_references (keys/openai) is missing in the namespace agents, add it there, and the pod goes on",
    );
    expect(end).toBeNull();
  });

  test.each<[string, Pod[], string]>([
    ["no pod", [], "its pod is not there yet"],
    [
      "no node with room",
      [
        pod({
          conditions: [
            {
              type: "PodScheduled",
              status: "False",
              reason: "Unschedulable",
              message: "0/3 nodes are available: 3 Insufficient cpu.",
            },
          ],
        }),
      ],
      "no node takes its pod: 0/3 nodes are available: 3 Insufficient cpu.",
    ],
    ["an artifact under way", [pod(fetcher({ state: { running: {} } }))], "its pod fetches what was built"],
    ["a server that starts", [pod(server({ state: { running: {} } }))], "its pod does not serve yet"],
    ["a container that is made", [pod(server(waits("ContainerCreating")))], "its pod does not serve yet"],
    [
      "a secret that is missing",
      [pod(server(waits("CreateContainerConfigError", 'secret "t-1" not found')))],
      'its pod waits: secret "t-1" not found',
    ],
    [
      "an image that the registry does not have, for now",
      [pod(server(waits("ErrImagePull", "not found")))],
      `the image ${image} cannot be pulled: not found`,
    ],
  ])("%s", (_what, pods, problem) => {
    expect(look(pods)).toMatchObject({ ready: false, problem, end: null });
  });

  test("an image is looked at again when its time is over", () => {
    const pods = [pod(server(waits("ImagePullBackOff", "not found")))];
    expect(look(pods, { pullFailedMs: 45_000 })).toMatchObject({ end: null, lookAgainMs: 15_000 });
    expect(look([pod(server({ state: { running: {} } }))]).lookAgainMs).toBeNull();
  });
});

describe("what ended", () => {
  test.each<[string, Pod[], object]>([
    [
      "out of memory",
      [pod(server({ state: { terminated: ended(137, "OOMKilled") } }))],
      { kind: "out_of_memory", detail: "256" },
    ],
    ["an exit", [pod(server({ state: { terminated: ended(7) } }))], { kind: "exit_code", detail: "7" }],
    [
      "an exit after which its node started it again",
      [pod(server({ ...waits("CrashLoopBackOff"), restartCount: 2, lastState: { terminated: ended(7) } }))],
      { kind: "exit_code", detail: "7" },
    ],
    [
      "an artifact that was refused",
      [pod(fetcher({ state: { terminated: ended(1, "Error", "http://treadle answers 404\n") } }))],
      { kind: "not_started", detail: "its artifact could not be fetched: http://treadle answers 404" },
    ],
    [
      "an artifact that was not fetched, without a word",
      [pod(fetcher({ state: { terminated: ended(137, "OOMKilled") } }))],
      { kind: "not_started", detail: "its artifact could not be fetched: OOMKilled with exit code 137" },
    ],
    [
      "an image whose name is none",
      [pod(server(waits("InvalidImageName", "couldn't parse it")))],
      { kind: "not_started", detail: `the image ${image} cannot be pulled: couldn't parse it` },
    ],
  ])("%s", (_what, pods, end) => {
    expect(look(pods)).toMatchObject({ ready: false, end });
  });

  test("an image that could not be pulled for a minute", () => {
    const found = look([pod(server(waits("ImagePullBackOff", "not found")))], { pullFailedMs: 60_000 });
    const detail = `the image ${image} cannot be pulled: not found`;
    expect(found).toMatchObject({ end: { kind: "not_started", detail }, lookAgainMs: null });
  });

  test("a pod that a quota refused, in the quota's words; not while there is a pod", () => {
    const message = 'pods "t-1-x" is forbidden: exceeded quota: small';
    const refused = deployment(1, [{ type: "ReplicaFailure", status: "True", message }]);
    const end = { kind: "not_started", detail: `Kubernetes refused its pod: ${message}` };
    expect(look([], { deployment: refused })).toMatchObject({ ready: false, end });
    expect(look([pod(server({ state: { running: {} } }))], { deployment: refused }).end).toBeNull();
  });

  test("of several pods, only when all of them keep ending", () => {
    const looping = pod(
      server({ ...waits("CrashLoopBackOff"), lastState: { terminated: ended(7) } }),
      "pod-1",
    );
    const well = pod({ ...server({ state: { running: {} } }), conditions: isReady }, "pod-2");
    expect(look([looping, well], { min: 2 }).end).toBeNull();
    const both = [looping, { ...looping, metadata: metadata("pod-2") }];
    expect(look(both, { min: 2 }).end).toEqual({ kind: "exit_code", detail: "7" });
  });

  test("of a server that may have several, one that was started again goes on, also alone", () => {
    const again = { ...server({ state: { running: {} }, lastState: { terminated: ended(7) } }) };
    expect(look([pod(again)], { min: 1, max: 3 }).end).toBeNull();
    expect(look([pod(again)], { min: 1, max: 1 }).end).toEqual({ kind: "exit_code", detail: "7" });
  });

  test("a pod that comes later and cannot fetch or pull ends nothing while another serves", () => {
    const well = pod({ ...server({ state: { running: {} } }), conditions: isReady }, "pod-1");
    const unfetched = pod(fetcher({ state: { terminated: ended(1, "Error", "answers 404") } }), "pod-2");
    const unpulled = pod(server(waits("ImagePullBackOff", "not found")), "pod-2");
    expect(look([well, unfetched], { min: 1, max: 2 })).toMatchObject({ ready: true, end: null });
    expect(look([well, unpulled], { min: 1, max: 2, pullFailedMs: 90_000 }).end).toBeNull();
    expect(look([unfetched], { min: 1, max: 2 }).end).toMatchObject({ kind: "not_started" });
  });
});

describe("what serves", () => {
  const well = (name: string) => pod({ ...server({ state: { running: {} } }), conditions: isReady }, name);

  test("one ready pod is an endpoint", () => {
    const endpoints = [{ name: "pod-1", host: "10.0.0.7", port: 8000, ready: true }];
    expect(look([well("pod-1")])).toMatchObject({ endpoints, ready: true, problem: "", end: null });
  });

  test("it is ready when as many are as there must be, however many are wanted just now", () => {
    const unready = pod(server({ state: { running: {} } }), "pod-2");
    expect(look([well("pod-1"), unready], { min: 2 })).toMatchObject({
      ready: false,
      problem: "1 of 2 pods serve; its pod does not serve yet",
    });
    expect(look([well("pod-1"), well("pod-2")], { min: 2 }).ready).toBe(true);
    expect(look([well("pod-1")], { deployment: deployment(3), min: 1, max: 3 }).ready).toBe(true);
  });

  test("a pod that is being removed is no endpoint, and its end is not that of the server", () => {
    const leaving = well("pod-1");
    leaving.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    expect(look([leaving])).toMatchObject({ endpoints: [], ready: false, end: null });
  });

  test("a pod without an address is no endpoint yet", () => {
    expect(look([{ metadata: metadata("pod-1"), status: {} }]).endpoints).toEqual([]);
  });
});

const lost = (more: { labels?: Record<string, string>; conditions?: Condition[] }): Pod => ({
  metadata: { ...metadata("pod-1"), deletionTimestamp: "2026-01-01T00:00:00Z", labels: more.labels ?? {} },
  spec: { nodeName: "node-1" },
  status: { podIP: "10.0.0.7", conditions: [...isReady, ...(more.conditions ?? [])] },
});
const evicted = { type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager" };

test("a lost pod may leave a quota no room for the next one: the server waits, and goes on when there is room", () => {
  const message = 'pods "t-1-x" is forbidden: exceeded quota: small';
  const refused = { deployment: deployment(1, [{ type: "ReplicaFailure", status: "True", message }]) };
  const problem = `Kubernetes refused its pod: ${message}`;
  for (const marked of [lost({ labels: { "treadle.dev/lost": "true" } }), lost({ conditions: [evicted] })])
    expect(look([marked], refused)).toMatchObject({ ready: false, problem, end: null });
  expect(look([lost({})], refused).end).toEqual({ kind: "not_started", detail: problem });
});

test("a pod whose node was lost is named while the cluster shows it, whoever found that out", () => {
  const well = pod({ conditions: isReady }, "pod-2");
  const named = [{ name: "pod-1", node: "node-1" }];
  expect(look([lost({ labels: { "treadle.dev/lost": "true" } }), well])).toMatchObject({ lost: named });
  expect(look([lost({ conditions: [evicted] }), well])).toMatchObject({ lost: named, ready: true });
  expect(look([lost({}), well]).lost).toEqual([]);
});
