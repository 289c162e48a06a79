import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import { BuildPodLost, type BuildPodOrder, type BuildPods } from "../../builds/pods/build-pods.ts";
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
import { certificatesOfBuilds } from "./certificates.ts";
import { KubernetesNamespaces, type NamespacePer, type Paths, pathsIn } from "./namespaces.ts";
import { accountName, describeAccount, installationLabel, manager, type NetworkRules } from "./objects.ts";
import { KubernetesPicture } from "./picture.ts";
import { PullFailures } from "./pulls.ts";
import type { WorkspaceQuota } from "./quotas.ts";
import { KubernetesRefusal } from "./refusal.ts";

export type KubernetesBuildPodsOptions = Pick<NetworkRules, "platformRanges"> &
  Pick<BuildFacts, "installation" | "image" | "memoryBytes" | "cpus" | "maxBytes"> & {
    api: KubernetesApi;
    namespace: string;
    namespacePer?: NamespacePer;
    quota?: WorkspaceQuota;
    platformUrl(): string;
    /** What builds may see of this process's environment: files of certificates that it names are brought along. */
    machine?: Readonly<Record<string, string>>;
    logger: Logger;
  };

type Named = Pick<BuildPodOrder, "id" | "workspaceId">;
type Followed = Named & Pick<BuildPodOrder, "timeoutMs">;

/** A Job that is not to be seen yet is asked for again. */
const unknownMs = 5_000;

/** Each build is a Kubernetes Job, which owns the Secret with its token. */
export class KubernetesBuildPods implements BuildPods {
  readonly image: string;
  readonly #options: KubernetesBuildPodsOptions;
  readonly #api: KubernetesApi;
  readonly #namespaces: KubernetesNamespaces;
  /** By what they watch; null is the whole cluster. */
  readonly #pictures = new Map<string | null, KubernetesPicture<BuildJob>>();

  constructor(options: KubernetesBuildPodsOptions) {
    this.image = options.image;
    this.#options = options;
    this.#api = options.api;
    this.#namespaces = new KubernetesNamespaces(options);
  }

  /** The Job first, since it owns the Secret: its pod waits for it. */
  async start({ token, environment, ...order }: BuildPodOrder): Promise<void> {
    if (await this.#readEarlier(order)) return;
    const namespace = await this.#namespaces.ready(order.workspaceId, (name) => this.#prepare(name));
    const { core, jobs } = pathsIn(namespace);
    const { platformUrl } = this.#options;
    const trust = await certificatesOfBuilds(this.#options);
    const facts: BuildFacts = { ...this.#options, order, platformUrl: platformUrl(), trust };
    const name = buildName(order.id);
    const job =
      (await this.#api.create<BuildJob>(jobs, describeBuildJob(facts))) ??
      (await this.#api.get<BuildJob>(`${jobs}/${name}`));
    // Removed by somebody just now; its end says so.
    if (!job) return;
    const owner = {
      ...{ apiVersion: "batch/v1", kind: "Job", name, uid: job.metadata.uid },
      ...{ controller: true, blockOwnerDeletion: false },
    };
    const secret = describeBuildSecret(facts, { token, environment }, owner);
    await this.#api.apply(`${core}/secrets/${name}`, secret, manager);
  }

  ended(order: Followed, onProblem: (problem: string) => void, signal: AbortSignal): Promise<string | null> {
    return this.#endedIn(this.#namespaces.of(order.workspaceId), order, onProblem, signal);
  }

  async #endedIn(
    namespace: string,
    order: Followed,
    onProblem: (problem: string) => void,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { id, timeoutMs } = order;
    const { memoryBytes } = this.#options;
    const pulls = new PullFailures();
    let lastProblem = "";
    let lookAgainMs: number | null = null;
    let place: string | null = namespace;
    const picture = this.#pictureOf(namespace);
    for await (const { owner: job, pods } of picture.looks({ id, namespace }, () => lookAgainMs, signal)) {
      lookAgainMs = unknownMs;
      if (!job) place = await this.#placeOf(order, namespace);
      if (place === null) return buildJobGone;
      if (place !== namespace) break;
      if (!job) continue;
      pulls.note(pods);
      const pullFailedMs = (pod: string) => pulls.failedMs(pod);
      const judged = judgeBuild(job, pods, { memoryBytes, timeoutMs, lastProblem, pullFailedMs });
      if (judged.end?.lost) throw new BuildPodLost(judged.end.trouble ?? "");
      if (judged.end) return judged.end.trouble;
      if (judged.problem !== lastProblem && judged.problem !== "") onProblem(judged.problem);
      lastProblem = judged.problem;
      lookAgainMs = judged.lookAgainMs;
    }
    signal.throwIfAborted();
    return await this.#endedIn(place, order, onProblem, signal);
  }

  async remove(order: Named): Promise<void> {
    const { id, workspaceId } = order;
    if (await this.#api.remove(jobPath(this.#namespaces.of(workspaceId), id))) return;
    const earlier = await this.#readEarlier(order);
    if (!earlier) return;
    const { uid } = earlier.metadata;
    await this.#api.remove(jobPath(this.#namespaces.otherOf(workspaceId), id), { uid });
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

  #pictureOf(namespace: string): KubernetesPicture<BuildJob> {
    const scope = this.#namespaces.isPerWorkspace ? null : namespace;
    const subject = { path: ({ jobs }: Paths) => jobs, label: buildLabel };
    const picture =
      this.#pictures.get(scope) ?? new KubernetesPicture<BuildJob>({ ...this.#options, scope }, subject);
    this.#pictures.set(scope, picture);
    return picture;
  }

  /** Of a build that began while `namespacePer` was the other one: it goes on where it is. */
  async #readEarlier({ id, workspaceId }: Named): Promise<BuildJob | null> {
    const { installation } = this.#options;
    try {
      const job = await this.#api.get<BuildJob>(jobPath(this.#namespaces.otherOf(workspaceId), id));
      return job?.metadata.labels?.[installationLabel] === installation ? job : null;
    } catch (error) {
      // Where nothing may be done nothing of ours can be.
      if (error instanceof KubernetesRefusal && error.status === 403) return null;
      throw error;
    }
  }

  /** Null when it is gone. Only an answer counts; while there is none, it is taken to be where it was. */
  async #placeOf(order: Named, before: string): Promise<string | null> {
    const { id, workspaceId } = order;
    const namespace = this.#namespaces.of(workspaceId);
    try {
      if (await this.#api.get<BuildJob>(jobPath(namespace, id))) return namespace;
      return (await this.#readEarlier(order)) ? this.#namespaces.otherOf(workspaceId) : null;
    } catch (error) {
      const facts = { build: id, reason: errorMessage(error) };
      this.#options.logger.warn(facts, "whether the Job of a build is there cannot be asked; trying again");
      return before;
    }
  }
}

const jobPath = (namespace: string, id: string) => `${pathsIn(namespace).jobs}/${buildName(id)}`;
