import type { Endpoint } from "../../endpoints/endpoint.ts";
import { type Exit, exitedWith, notStarted, outOfMemory } from "../exit.ts";
import type { LostPod, Scale } from "../runtime.ts";
import type { KubernetesObject } from "./api.ts";
import { fetchContainer, lostLabel, serverContainer } from "./objects.ts";

type Terminated = { exitCode: number; reason?: string; message?: string };
export type ContainerStatus = {
  name: string;
  image?: string;
  ready?: boolean;
  restartCount?: number;
  state?: { waiting?: { reason?: string; message?: string }; running?: object; terminated?: Terminated };
  lastState?: { terminated?: Terminated };
};
export type Condition = { type: string; status: string; reason?: string; message?: string };

export type Pod = KubernetesObject & {
  spec?: { nodeName?: string; containers?: { name: string; ports?: { containerPort: number }[] }[] };
  status?: {
    phase?: string;
    podIP?: string;
    reason?: string;
    message?: string;
    conditions?: Condition[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
};

export type OwnDeployment = KubernetesObject & {
  spec: { replicas: number };
  status?: { conditions?: Condition[] };
};

/** What the cluster shows of one instance. */
export type Judged = {
  endpoints: Endpoint[];
  ready: boolean;
  /** Why it is not ready, where that may still change. */
  problem: string;
  /** How it ended, or why it never will start. */
  end: Exit | null;
  /** Those whose node was lost, while the cluster still shows them. */
  lost: LostPod[];
  /** When to look again, though nothing changed: some problems are given a while. */
  lookAgainMs: number | null;
};

export type Judging = {
  port: number;
  memoryBytes: number | null;
  /** How many replicas it must have, and may have. */
  scale: Pick<Scale, "min" | "max">;
  /** The keys of Secrets that it needs. */
  references?: readonly string[];
  /** Since when an image cannot be pulled, by the pod's name. */
  pullFailedMs(pod: string): number;
};

/** The registry may be away for a moment. */
const pullPatienceMs = 60_000;
const pullReasons = new Set(["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"]);

export function judge(deployment: OwnDeployment, pods: readonly Pod[], judging: Judging): Judged {
  const current = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const endpoints = current.flatMap((pod) => endpointOf(pod, judging.port));
  const serving = endpoints.filter((endpoint) => endpoint.ready).length;
  const ready = serving >= judging.scale.min;
  const pull = current.map((pod) => pullTrouble(pod, judging)).find((found) => found !== null) ?? null;
  // While one of several serves, the others are their nodes' business.
  const goesOn = serving > 0 && judging.scale.max > 1;
  const refusal = refusedPods(deployment, current);
  const lost = pods.flatMap(lostOf);
  // A lost pod counts against quotas until it is gone; then the cluster tries again by itself.
  const refused = refusal !== null && lost.length === 0 ? notStarted(refusal) : null;
  const end = goesOn ? null : (refused ?? pull?.end ?? endOf(current, judging));
  return {
    ...{ endpoints, ready: ready && end === null, end },
    problem: ready ? "" : (pull?.problem ?? refusal ?? problemOf(current, judging)),
    lost,
    lookAgainMs: pull?.lookAgainMs ?? null,
  };
}

/** By a quota or by an admission rule of the cluster; the Deployment has its words. */
function refusedPods({ status }: OwnDeployment, pods: readonly Pod[]): string | null {
  const failure = status?.conditions?.find(
    ({ type, status }) => type === "ReplicaFailure" && status === "True",
  );
  return failure && pods.length === 0 ? `Kubernetes refused its pod: ${failure.message}` : null;
}

function endpointOf({ metadata, status }: Pod, port: number): Endpoint[] {
  if (!status?.podIP) return [];
  return [{ name: metadata.name, host: status.podIP, port, ready: isReady(status) }];
}

/** By us, or by the cluster when the node did not report for a while. */
export function lostOf({ metadata, spec, status }: Pod): LostPod[] {
  const byCluster = status?.conditions?.some(
    ({ type, reason }) => type === "DisruptionTarget" && reason === "DeletionByTaintManager",
  );
  const isLost = byCluster || metadata.labels?.[lostLabel] === "true";
  return isLost && spec?.nodeName ? [{ name: metadata.name, node: spec.nodeName }] : [];
}

/** Whether it should take connections. */
export const isServing = (pod: Pod) => Boolean(pod.status?.podIP) && isReady(pod.status);

export const portOf = ({ spec }: Pod) =>
  spec?.containers?.find(({ name }) => name === serverContainer)?.ports?.[0]?.containerPort ?? 0;

function isReady(status: Pod["status"]): boolean {
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

export function pullTrouble(pod: Pod, { pullFailedMs }: Pick<Judging, "pullFailedMs">) {
  const waiting = allContainers(pod).find(({ state }) => pullReasons.has(state?.waiting?.reason ?? ""));
  if (!waiting) return null;
  const problem = `the image ${waiting.image ?? ""} cannot be pulled: ${waiting.state?.waiting?.message ?? waiting.state?.waiting?.reason}`;
  const failedMs = pullFailedMs(pod.metadata.name);
  const isHopeless = waiting.state?.waiting?.reason === "InvalidImageName";
  const end = isHopeless || failedMs >= pullPatienceMs ? notStarted(problem) : null;
  return { problem, end, lookAgainMs: end ? null : pullPatienceMs - failedMs };
}

/** Whether a pod's image cannot be pulled now. */
export function isPullFailing(pod: Pod): boolean {
  return allContainers(pod).some(({ state }) => pullReasons.has(state?.waiting?.reason ?? ""));
}

/**
 * One pod that ends is the end of a server without replicas: what comes next is decided where it is for every
 * runtime. Of several, each is started again by its node, until all of them only fail.
 */
function endOf(pods: readonly Pod[], judging: Judging): Exit | null {
  const fetching = pods.flatMap(({ status }) => status?.initContainerStatuses ?? []).find(hasFailed);
  if (fetching?.name === fetchContainer) return notStarted(fetchFailure(fetching));
  const servers = pods.map(serverOf);
  const isOver = (server: ContainerStatus | undefined) =>
    server !== undefined && (judging.scale.max === 1 ? endedOnce(server) : isLooping(server));
  if (servers.length === 0 || !servers.every(isOver)) return null;
  return exitOf(lastEnd(servers[0]!)!, judging);
}

const endedOnce = (server: ContainerStatus) => lastEnd(server) !== null;
const isLooping = (server: ContainerStatus) => server.state?.waiting?.reason === "CrashLoopBackOff";

function hasFailed({ state, lastState }: ContainerStatus): boolean {
  return (state?.terminated?.exitCode ?? lastState?.terminated?.exitCode ?? 0) !== 0;
}

function fetchFailure(container: ContainerStatus): string {
  const { exitCode, reason, message } = lastEnd(container)!;
  const why = message?.trim() || `${reason ?? "it ended"} with exit code ${exitCode}`;
  return `its artifact could not be fetched: ${why.slice(-1_000)}`;
}

/** How a container ended last. */
export function lastEnd({ state, lastState }: ContainerStatus): Terminated | null {
  return state?.terminated ?? lastState?.terminated ?? null;
}

export function exitOf(ended: Terminated, { memoryBytes }: Pick<Judging, "memoryBytes">): Exit {
  return ended.reason === "OOMKilled" ? outOfMemory(memoryBytes) : exitedWith(ended.exitCode);
}

export const serverOf = ({ status }: Pod) =>
  status?.containerStatuses?.find(({ name }) => name === serverContainer);

function allContainers({ status }: Pod): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** In the words a person waits with. */
function problemOf(pods: readonly Pod[], { scale, references = [] }: Judging): string {
  const wanted = scale.min;
  const unready = pods.filter(({ status }) => !isReady(status));
  const serving = pods.length - unready.length;
  const [pod] = unready;
  const why = pod ? problemOfPod(pod, references) : "its pod is not there yet";
  return wanted === 1 ? why : `${serving} of ${wanted} pods serve; ${why}`;
}

/** Also for other faults of a container. The kubelet has words for each, and tries again by itself. */
const missingKeyReason = "CreateContainerConfigError";

function problemOfPod(pod: Pod, references: readonly string[]): string {
  const mayLackKey = serverOf(pod)?.state?.waiting?.reason === missingKeyReason && references.length > 0;
  if (mayLackKey)
    return `${waitProblem(pod)}. If one of its secret_references (${references.join(", ")}) is missing in the namespace ${pod.metadata.namespace}, add it there, and the pod goes on`;
  const fetching = pod.status?.initContainerStatuses?.some(({ state }) => state?.running);
  return waitProblem(pod) ?? (fetching ? "its pod fetches what was built" : "its pod does not serve yet");
}

/** What keeps a pod from running; null when nothing does. */
export function waitProblem(pod: Pod): string | null {
  const { phase, reason, message } = pod.status ?? {};
  if (phase === "Failed" && reason)
    return `Kubernetes took its pod away (${reason}${message ? `: ${message.trim()}` : ""})`;
  const unscheduled = pod.status?.conditions?.find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  if (unscheduled) return `no node takes its pod: ${unscheduled.message ?? unscheduled.reason}`;
  const waiting = allContainers(pod).find(({ state }) => state?.waiting)?.state?.waiting;
  if (waiting && waiting.reason !== "PodInitializing" && waiting.reason !== "ContainerCreating")
    return `its pod waits: ${waiting.message ?? waiting.reason}`;
  return null;
}
