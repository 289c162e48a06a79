import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { BuildPodOrder, BuildPods } from "../../builds/pods/build-pods.ts";
import type { KubernetesApi, KubernetesObject } from "./api.ts";
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
import { isPullFailing, type Pod } from "./pods.ts";
import { watchObjects } from "./watch.ts";

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
  /** Made once by each process: what every build of the namespace uses. */
  #ground: Promise<void> | undefined;

  constructor(options: KubernetesBuildPodsOptions) {
    this.image = options.image;
    this.#options = options;
    this.#api = options.api;
    this.#core = `/api/v1/namespaces/${options.namespace}`;
    this.#jobs = `/apis/batch/v1/namespaces/${options.namespace}/jobs`;
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
    const stop = new AbortController();
    const view = new BuildView(AbortSignal.any([signal, stop.signal]));
    const pulls = new PullFailures();
    let lastProblem = "";
    const onTrouble = (error: unknown) => this.#warn(id, error);
    const at = { labelSelector: `${buildLabel}=${id}`, onTrouble };
    view.watch(this.#api, { ...at, path: this.#jobs }, view.jobs);
    view.watch(this.#api, { ...at, path: `${this.#core}/pods` }, view.pods);
    try {
      for (;;) {
        signal.throwIfAborted();
        const changed = view.changed();
        const [job] = view.jobs.items.values();
        const pods = [...view.pods.items.values()];
        if (view.jobs.isWhole && !job && (await this.#isGone(id))) return buildJobGone;
        let lookAgainMs: number | null = job ? null : unknownMs;
        if (job && view.pods.isWhole) {
          pulls.note(pods);
          const judging = { memoryBytes, timeoutMs, lastProblem, pullFailedMs: pulls.failedMs };
          const judged = judgeBuild(job, pods, judging);
          if (judged.end) return judged.end.trouble;
          if (judged.problem !== lastProblem && judged.problem !== "") onProblem(judged.problem);
          lastProblem = judged.problem;
          lookAgainMs = judged.lookAgainMs;
        }
        await Promise.race([changed, ...(lookAgainMs === null ? [] : [pause(lookAgainMs, stop.signal)])]);
      }
    } finally {
      stop.abort();
    }
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
      this.#warn(id, error);
      return false;
    }
  }

  #warn(build: string, error: unknown): void {
    const facts = { build, reason: errorMessage(error) };
    this.#options.logger.warn(facts, "the Job of a build cannot be watched; trying again");
  }
}

type Watched<Item> = { items: Map<string, Item & KubernetesObject>; isWhole: boolean };

/** The Job and the pods of one build, as the cluster shows them. */
class BuildView {
  readonly jobs: Watched<BuildJob> = { items: new Map(), isWhole: false };
  readonly pods: Watched<Pod> = { items: new Map(), isWhole: false };
  readonly #signal: AbortSignal;
  #changed = Promise.withResolvers<void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#changed.resolve(), { once: true });
  }

  /** Resolves with the next change after this call. */
  changed(): Promise<void> {
    this.#changed = Promise.withResolvers<void>();
    if (this.#signal.aborted) this.#changed.resolve();
    return this.#changed.promise;
  }

  watch<Item>(
    api: KubernetesApi,
    options: { path: string; labelSelector: string; onTrouble(error: unknown): void },
    into: Watched<Item>,
  ): void {
    const run = async () => {
      for await (const seen of watchObjects<Item>(api, options, this.#signal)) {
        if (seen.kind === "all") {
          into.items.clear();
          for (const object of seen.objects) into.items.set(object.metadata.uid, object);
          into.isWhole = true;
        } else if (seen.kind === "removed") into.items.delete(seen.object.metadata.uid);
        else into.items.set(seen.object.metadata.uid, seen.object);
        this.#changed.resolve();
      }
    };
    run().catch(options.onTrouble);
  }
}

/** Since when images cannot be pulled. */
class PullFailures {
  readonly #since = new Map<string, number>();

  readonly failedMs = (pod: string) => performance.now() - (this.#since.get(pod) ?? performance.now());

  note(pods: readonly Pod[]): void {
    for (const pod of pods) {
      const { name } = pod.metadata;
      if (isPullFailing(pod) && !this.#since.has(name)) this.#since.set(name, performance.now());
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
