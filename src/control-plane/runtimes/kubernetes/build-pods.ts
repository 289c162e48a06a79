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
import { accountName, describeAccount, installationLabel, manager, type NetworkRules } from "./objects.ts";
import { KubernetesPicture } from "./picture.ts";
import { PullFailures } from "./pulls.ts";

export type KubernetesBuildPodsOptions = Pick<NetworkRules, "platformRanges"> &
  Pick<BuildFacts, "installation" | "image" | "memoryBytes" | "cpus" | "maxBytes"> & {
    api: KubernetesApi;
    namespace: string;
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
  readonly #core: string;
  readonly #jobs: string;
  readonly #picture: KubernetesPicture<BuildJob>;
  /** Made once by each process: what every build of the namespace uses. */
  #ground: Promise<void> | undefined;

  constructor(options: KubernetesBuildPodsOptions) {
    this.image = options.image;
    this.#options = options;
    this.#api = options.api;
    this.#core = `/api/v1/namespaces/${options.namespace}`;
    this.#jobs = `/apis/batch/v1/namespaces/${options.namespace}/jobs`;
    this.#picture = new KubernetesPicture(options, { path: this.#jobs, label: buildLabel });
  }

  /** The Job first, since it owns the Secret: its pod waits for it. */
  async start({ token, environment, ...order }: BuildPodOrder): Promise<void> {
    this.#ground ??= this.#prepare();
    await this.#ground.catch((error: unknown) => {
      this.#ground = undefined;
      throw error;
    });
    const { platformUrl } = this.#options;
    const facts: BuildFacts = { ...this.#options, order, platformUrl: platformUrl() };
    const name = buildName(order.id);
    const job =
      (await this.#api.create<BuildJob>(this.#jobs, describeBuildJob(facts))) ?? (await this.#read(order.id));
    // Removed by somebody just now; its end says so.
    if (!job) return;
    const owner = {
      ...{ apiVersion: "batch/v1", kind: "Job", name, uid: job.metadata.uid },
      ...{ controller: true, blockOwnerDeletion: false },
    };
    const secret = describeBuildSecret(facts, { token, environment }, owner);
    await this.#api.apply(`${this.#core}/secrets/${name}`, secret, manager);
  }

  async ended(
    { id, timeoutMs }: Pick<BuildPodOrder, "id" | "timeoutMs">,
    onProblem: (problem: string) => void,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { memoryBytes } = this.#options;
    const pulls = new PullFailures();
    let lastProblem = "";
    let lookAgainMs: number | null = null;
    for await (const { owner: job, pods } of this.#picture.looks(id, () => lookAgainMs, signal)) {
      lookAgainMs = unknownMs;
      if (!job && (await this.#isGone(id))) return buildJobGone;
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

  async remove(id: string): Promise<void> {
    await this.#api.remove(`${this.#jobs}/${buildName(id)}`);
  }

  async removeOthers(live: () => Promise<ReadonlySet<string>>): Promise<void> {
    const selector = `${installationLabel}=${this.#options.installation},${buildLabel}`;
    // Rows are written before Jobs are made: what is listed first and has no row afterwards has none.
    const { items } = await this.#api.list<BuildJob>(this.#jobs, selector);
    const wanted = items.length === 0 ? new Set<string>() : await live();
    for (const { metadata } of items) {
      if (wanted.has(metadata.labels?.[buildLabel] ?? "")) continue;
      this.#options.logger.warn({ name: metadata.name }, "a Job that belongs to no build is removed");
      await this.#api.remove(`${this.#jobs}/${metadata.name}`, { uid: metadata.uid });
    }
  }

  async #prepare(): Promise<void> {
    const { installation, namespace, platformUrl, platformRanges } = this.#options;
    const policies = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;
    const account = describeAccount(installation);
    await this.#api.apply(`${this.#core}/serviceaccounts/${accountName}`, account, manager);
    const policy = describeBuildPolicy(installation, { platformRanges, platformUrl: platformUrl() });
    await this.#api.apply(`${policies}/${policy.metadata.name}`, policy, manager);
  }

  #read(id: string): Promise<BuildJob | null> {
    return this.#api.get<BuildJob>(`${this.#jobs}/${buildName(id)}`);
  }

  /** Only an answer counts; while there is none, nothing is known. */
  async #isGone(id: string): Promise<boolean> {
    try {
      return (await this.#read(id)) === null;
    } catch (error) {
      const facts = { build: id, reason: errorMessage(error) };
      this.#options.logger.warn(facts, "whether the Job of a build is there cannot be asked; trying again");
      return false;
    }
  }
}
