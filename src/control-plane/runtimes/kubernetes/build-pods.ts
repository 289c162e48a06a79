import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { BuildPodOrder, BuildPods } from "../../builds/pods/build-pods.ts";
import type { KubernetesApi } from "./api.ts";
import {
  type BuildFacts,
  buildLabel,
  buildName,
  describeBuildJob,
  describeBuildPolicy,
  describeBuildSecret,
} from "./build-objects.ts";
import { type BuildJob, buildJobGone, judgeBuild } from "./build-words.ts";
import { KubernetesNamespaces, type NamespacePer, type Paths, pathsIn } from "./namespaces.ts";
import { accountName, describeAccount, installationLabel, manager, type NetworkRules } from "./objects.ts";
import { KubernetesPicture } from "./picture.ts";
import { PullFailures } from "./pulls.ts";

export type KubernetesBuildPodsOptions = Pick<NetworkRules, "platformRanges"> &
  Pick<BuildFacts, "installation" | "image" | "memoryBytes" | "cpus" | "maxBytes"> & {
    api: KubernetesApi;
    namespace: string;
    namespacePer?: NamespacePer;
    platformUrl(): string;
    logger: Logger;
  };

/** A Job that is not to be seen yet is asked for again. */
const unknownMs = 5_000;

/** Each build is a Kubernetes Job, which owns the Secret with its token. */
export class KubernetesBuildPods implements BuildPods {
  readonly image: string;
  readonly #options: KubernetesBuildPodsOptions;
  readonly #api: KubernetesApi;
  readonly #namespaces: KubernetesNamespaces;
  readonly #picture: KubernetesPicture<BuildJob>;

  constructor(options: KubernetesBuildPodsOptions) {
    this.image = options.image;
    this.#options = options;
    this.#api = options.api;
    this.#namespaces = new KubernetesNamespaces(options);
    const { scope } = this.#namespaces;
    const subject = { path: ({ jobs }: Paths) => jobs, label: buildLabel };
    this.#picture = new KubernetesPicture({ ...options, scope }, subject);
  }

  /** The Job first, since it owns the Secret: its pod waits for it. */
  async start({ token, environment, ...order }: BuildPodOrder): Promise<void> {
    const namespace = await this.#namespaces.ready(order.workspaceId, (name) => this.#prepare(name));
    const { core, jobs } = pathsIn(namespace);
    const { platformUrl } = this.#options;
    const facts: BuildFacts = { ...this.#options, order, platformUrl: platformUrl() };
    const name = buildName(order.id);
    const job =
      (await this.#api.create<BuildJob>(jobs, describeBuildJob(facts))) ?? (await this.#read(order));
    // Removed by somebody just now; its end says so.
    if (!job) return;
    const owner = {
      ...{ apiVersion: "batch/v1", kind: "Job", name, uid: job.metadata.uid },
      ...{ controller: true, blockOwnerDeletion: false },
    };
    const secret = describeBuildSecret(facts, { token, environment }, owner);
    await this.#api.apply(`${core}/secrets/${name}`, secret, manager);
  }

  async ended(
    { id, workspaceId, timeoutMs }: Pick<BuildPodOrder, "id" | "workspaceId" | "timeoutMs">,
    onProblem: (problem: string) => void,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { memoryBytes } = this.#options;
    const pulls = new PullFailures();
    let lastProblem = "";
    let lookAgainMs: number | null = null;
    const one = { id, namespace: this.#namespaces.of(workspaceId) };
    for await (const { owner: job, pods } of this.#picture.looks(one, () => lookAgainMs, signal)) {
      lookAgainMs = unknownMs;
      if (!job && (await this.#isGone({ id, workspaceId }))) return buildJobGone;
      if (!job) continue;
      pulls.note(pods);
      const pullFailedMs = (pod: string) => pulls.failedMs(pod);
      const judged = judgeBuild(job, pods, { memoryBytes, timeoutMs, lastProblem, pullFailedMs });
      if (judged.end) return judged.end.trouble;
      if (judged.problem !== lastProblem && judged.problem !== "") onProblem(judged.problem);
      lastProblem = judged.problem;
      lookAgainMs = judged.lookAgainMs;
    }
    throw signal.reason;
  }

  async remove({ id, workspaceId }: Pick<BuildPodOrder, "id" | "workspaceId">): Promise<void> {
    const { jobs } = pathsIn(this.#namespaces.of(workspaceId));
    await this.#api.remove(`${jobs}/${buildName(id)}`);
  }

  async removeOthers(live: () => Promise<ReadonlySet<string>>): Promise<void> {
    const selector = `${installationLabel}=${this.#options.installation},${buildLabel}`;
    // Rows are written before Jobs are made: what is listed first and has no row afterwards has none.
    const items = await this.#namespaces.list<BuildJob>(({ jobs }) => jobs, selector);
    const wanted = items.length === 0 ? new Set<string>() : await live();
    for (const { metadata } of items) {
      if (wanted.has(metadata.labels?.[buildLabel] ?? "")) continue;
      this.#options.logger.warn({ name: metadata.name }, "a Job that belongs to no build is removed");
      const { jobs } = pathsIn(metadata.namespace ?? this.#options.namespace);
      await this.#api.remove(`${jobs}/${metadata.name}`, { uid: metadata.uid });
    }
  }

  async #prepare(namespace: string): Promise<void> {
    const { installation, namespace: platform, platformUrl, platformRanges } = this.#options;
    const { core, policies } = pathsIn(namespace);
    const account = describeAccount(installation);
    await this.#api.apply(`${core}/serviceaccounts/${accountName}`, account, manager);
    const policy = describeBuildPolicy(installation, {
      ...{ platformRanges, platformUrl: platformUrl() },
      platformNamespace: namespace === platform ? undefined : platform,
    });
    await this.#api.apply(`${policies}/${policy.metadata.name}`, policy, manager);
  }

  #read({ id, workspaceId }: Pick<BuildPodOrder, "id" | "workspaceId">): Promise<BuildJob | null> {
    const { jobs } = pathsIn(this.#namespaces.of(workspaceId));
    return this.#api.get<BuildJob>(`${jobs}/${buildName(id)}`);
  }

  /** Only an answer counts; while there is none, nothing is known. */
  async #isGone(order: Pick<BuildPodOrder, "id" | "workspaceId">): Promise<boolean> {
    try {
      return (await this.#read(order)) === null;
    } catch (error) {
      const facts = { build: order.id, reason: errorMessage(error) };
      this.#options.logger.warn(facts, "whether the Job of a build is there cannot be asked; trying again");
      return false;
    }
  }
}
