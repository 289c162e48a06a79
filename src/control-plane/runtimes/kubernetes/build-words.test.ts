import { describe, expect, it } from "vitest";
import { type BuildJob, type BuildJudging, judgeBuild } from "./build-words.ts";
import type { Pod } from "./pods.ts";

const metadata = { name: "treadle-build-1", uid: "1", resourceVersion: "1" };
const job = (type?: string, reason?: string, message?: string): BuildJob => ({
  metadata,
  status: {
    conditions: type
      ? [{ type, status: "True", ...(reason ? { reason } : {}), ...(message ? { message } : {}) }]
      : [],
  },
});
type Status = NonNullable<Pod["status"]> & { message?: string };
const pod = (status: Status, deleted = false): Pod => ({
  metadata: { ...metadata, ...(deleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}) },
  status,
});
const ended = (
  terminated: { exitCode: number; reason?: string; message?: string },
  more: Status = {},
): Status => ({
  ...more,
  containerStatuses: [{ name: "build", state: { terminated } }],
});
const waits = (reason: string, message: string): Status => ({
  containerStatuses: [{ name: "build", image: "treadle:1", state: { waiting: { reason, message } } }],
});
const judging: BuildJudging = {
  ...{ memoryBytes: 512 * 1024 * 1024, timeoutMs: 900_000, lastProblem: "", pullFailedMs: () => 0 },
};
const judged = (given: BuildJob, pods: Pod[], more: Partial<BuildJudging> = {}) =>
  judgeBuild(given, pods, { ...judging, ...more });

describe("the end of a build in a pod", () => {
  it("is in order when its container ended so", () => {
    expect(judged(job(), [pod(ended({ exitCode: 0 }))]).end).toEqual({ trouble: null });
    expect(judged(job("Complete"), []).end).toEqual({ trouble: null });
  });

  it.each<[string, BuildJob, Pod[], RegExp]>([
    [
      "memory",
      job(),
      [pod(ended({ exitCode: 137, reason: "OOMKilled" }))],
      /out of memory: its limit is 512 MB\. Raise TREADLE_BUILD_MEMORY_MB/,
    ],
    [
      "eviction",
      job(),
      [pod({ phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." })],
      /took the pod of the build away \(Evicted: The node was low on resource: memory\.\)\. Deploy again/,
    ],
    [
      "preemption",
      job(),
      [
        pod(
          ended(
            { exitCode: 143 },
            {
              conditions: [
                {
                  type: "DisruptionTarget",
                  status: "True",
                  reason: "PreemptionByScheduler",
                  message: "preempting to accommodate a higher priority pod",
                },
              ],
            },
          ),
        ),
      ],
      /away \(PreemptionByScheduler: preempting to accommodate/,
    ],
    [
      "a lost node",
      job("Failed", "BackoffLimitExceeded"),
      [],
      /The pod of the build is gone: its node was lost/,
    ],
    [
      "time",
      job("Failed", "DeadlineExceeded"),
      [pod(ended({ exitCode: 143 }), true)],
      /did not finish within the timeout of 900 s\. Make it faster, or raise TREADLE_BUILD_TIMEOUT_SECONDS/,
    ],
    [
      "its own last words",
      job(),
      [
        pod(
          ended({
            exitCode: 1,
            reason: "Error",
            message: "http://treadle:8124 does not answer: fetch failed\n",
          }),
        ),
      ],
      /ended with exit code 1: http:\/\/treadle:8124 does not answer: fetch failed$/,
    ],
    [
      "anything else the Job says",
      job("Failed", "PodFailurePolicy", "a rule matched"),
      [],
      /Kubernetes ended the build: a rule matched/,
    ],
  ])("names %s", (_what, given, pods, words) => {
    expect(judged(given, pods).end?.trouble).toMatch(words);
  });

  it("names what kept it from beginning when its time is over", () => {
    const lastProblem = "no node takes its pod: 0/3 nodes are available";
    expect(judged(job("Failed", "DeadlineExceeded"), [], { lastProblem }).end?.trouble).toBe(
      `The build could not begin within the timeout of 900 s: ${lastProblem}`,
    );
  });

  it("is not the build's when its node is lost, as we or the cluster found", () => {
    const running: Status = { containerStatuses: [{ name: "build", state: { running: {} } }] };
    const marked = pod(running);
    marked.metadata.labels = { "treadle.dev/lost": "true" };
    const reason = "DeletionByTaintManager";
    const told = pod(
      { ...running, conditions: [{ type: "DisruptionTarget", status: "True", reason }] },
      true,
    );
    for (const each of [marked, told]) {
      const end = { trouble: "The node one, on which the build ran, does not respond.", lost: true };
      expect(judged(job(), [{ ...each, spec: { nodeName: "one" } }]).end).toEqual(end);
    }
  });

  it("of a pod that is being deleted is the Job's to explain", () => {
    expect(judged(job(), [pod(ended({ exitCode: 143 }), true)]).end).toBeNull();
  });
});

describe("a build that has not begun", () => {
  it("waits with the scheduler's words, with those of its node, or for its pod", () => {
    const unscheduled = {
      conditions: [{ type: "PodScheduled", status: "False", message: "0/1 nodes are available" }],
    };
    expect(judged(job(), [pod(unscheduled)])).toEqual({
      ...{ end: null, problem: "no node takes its pod: 0/1 nodes are available", lookAgainMs: null },
    });
    expect(judged(job(), [pod(waits("CreateContainerConfigError", "no such secret"))]).problem).toBe(
      "its pod waits: no such secret",
    );
    expect(judged(job(), []).problem).toMatch(/has not made its pod yet; a quota or an admission rule/);
    expect(judged(job(), [pod(waits("ContainerCreating", ""))]).problem).toBe("");
  });

  it("fails with its image when that could not be pulled for a minute, or never can be", () => {
    const failing = [pod(waits("ErrImagePull", "not found"))];
    const problem = "the image treadle:1 cannot be pulled: not found";
    expect(judged(job(), failing)).toEqual({ end: null, problem, lookAgainMs: 60_000 });
    expect(judged(job(), failing, { pullFailedMs: () => 60_000 }).end?.trouble).toBe(
      `The build could not begin: ${problem}`,
    );
    expect(judged(job(), [pod(waits("InvalidImageName", "no name"))]).end?.trouble).toMatch(
      /cannot be pulled: no name/,
    );
  });
});
