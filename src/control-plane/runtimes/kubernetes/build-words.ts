import type { KubernetesObject } from "./api.ts";
import { buildContainer } from "./build-objects.ts";
import { type Condition, lostOf, type Pod, pullTrouble, waitProblem } from "./pods.ts";

export type BuildJob = KubernetesObject & { status?: { conditions?: Condition[] } };

export type BuildJudging = {
  memoryBytes: number | null;
  timeoutMs: number;
  /** How long an image cannot be pulled, by the pod's name. */
  pullFailedMs(pod: string): number;
  /** Why it had not begun when it was last seen; "" once it had. */
  lastProblem: string;
};

export type JudgedBuild = {
  /** Its pod has ended, or never will run: with what went wrong, or with null. `lost`: it went with its node. */
  end: { trouble: string | null; lost?: true } | null;
  /** Why it does not run, where that may still change. */
  problem: string;
  lookAgainMs: number | null;
};

/** What the cluster shows of one build, in words. */
export function judgeBuild(job: BuildJob, pods: readonly Pod[], judging: BuildJudging): JudgedBuild {
  const pod = pods[0];
  const [lost] = pods.flatMap(lostOf);
  if (lost) return { end: { trouble: nodeLost(lost.node), lost: true }, problem: "", lookAgainMs: null };
  const pull = pod ? pullTrouble(pod, judging) : null;
  if (pull) {
    const end = pull.end && { trouble: `The build could not begin: ${pull.problem}` };
    return { end, problem: pull.problem, lookAgainMs: pull.lookAgainMs };
  }
  const end = (pod && endOfPod(pod, judging)) ?? endOfJob(job, judging);
  const problem = end ? "" : pod ? (waitProblem(pod) ?? "") : noPodText;
  return { end, problem, lookAgainMs: null };
}

const noPodText =
  "Kubernetes has not made its pod yet; a quota or an admission rule of the namespace may forbid it (kubectl describe job)";

function containerOf(pod: Pod | undefined) {
  return pod?.status?.containerStatuses?.find(({ name }) => name === buildContainer);
}

/** Kubernetes ends pods for its own reasons: it says so beside how the container ended. */
function endOfPod(pod: Pod, judging: BuildJudging): JudgedBuild["end"] {
  const { status } = pod;
  if (status?.phase === "Failed" && status.reason)
    return { trouble: takenAway(status.reason, status.message) };
  const ended = containerOf(pod)?.state?.terminated;
  if (!ended) return null;
  const disruption = status?.conditions?.find(
    ({ type, status }) => type === "DisruptionTarget" && status === "True",
  );
  if (disruption) return { trouble: takenAway(disruption.reason ?? "Disruption", disruption.message) };
  if (ended.exitCode === 0) return { trouble: null };
  if (ended.reason === "OOMKilled") return { trouble: buildOutOfMemory(judging.memoryBytes) };
  // Deleted: whoever did it, the Job says why.
  if (pod.metadata.deletionTimestamp !== undefined) return null;
  const words = ended.message?.trim().slice(-2_000) || (ended.reason ?? "no reason is given");
  return { trouble: `The pod of the build ended with exit code ${ended.exitCode}: ${words}` };
}

function endOfJob({ status }: BuildJob, judging: BuildJudging): JudgedBuild["end"] {
  const is = (wanted: string) =>
    status?.conditions?.find(({ type, status }) => type === wanted && status === "True");
  const failed = is("Failed") ?? is("FailureTarget");
  if (!failed) return is("Complete") ? { trouble: null } : null;
  if (failed.reason === "DeadlineExceeded") return { trouble: tooLate(judging) };
  if (failed.reason === "BackoffLimitExceeded") return { trouble: buildPodGone };
  return { trouble: `Kubernetes ended the build: ${failed.message ?? failed.reason}` };
}

function tooLate({ timeoutMs, lastProblem }: BuildJudging): string {
  const seconds = Math.round(timeoutMs / 1000);
  return lastProblem === ""
    ? `The build did not finish within the timeout of ${seconds} s. Make it faster, or raise TREADLE_BUILD_TIMEOUT_SECONDS.`
    : `The build could not begin within the timeout of ${seconds} s: ${lastProblem}`;
}

const takenAway = (reason: string, message: string | undefined) =>
  `Kubernetes took the pod of the build away (${reason}${message ? `: ${message.trim()}` : ""}). Deploy again.`;

const nodeLost = (node: string) => `The node ${node}, on which the build ran, does not respond.`;

export const buildPodGone =
  "The pod of the build is gone: its node was lost, or somebody deleted it. Deploy again.";

export const buildJobGone = "The Job of the build is gone: somebody deleted it. Deploy again.";

export function buildOutOfMemory(memoryBytes: number | null): string {
  const limit = memoryBytes === null ? "its node's" : `${Math.round(memoryBytes / 1024 / 1024)} MB`;
  return `The build is out of memory: its limit is ${limit}. Raise TREADLE_BUILD_MEMORY_MB, or make the build smaller.`;
}
