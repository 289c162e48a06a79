import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import { containersOnly, type Isolation, inContainers } from "../../sandbox/isolation.ts";
import type { Walls } from "../../sandbox/walls.ts";
import type { Exit } from "../exit.ts";
import type { Handle, Observation, Runtime, StartSpec, Usage } from "../runtime.ts";
import type { KubernetesApi } from "./api.ts";
import { buildLabel } from "./build-objects.ts";
import { describeSecrets, withCertificates } from "./certificates.ts";
import { followInstance } from "./follow.ts";
import { annotationsOf, type Known, knownOf } from "./known.ts";
import { PodLogs } from "./logs.ts";
import { LostNodes, type LostNodesOptions } from "./lost-nodes.ts";
import { KubernetesNamespaces, type NamespacePer, type Paths, pathsIn } from "./namespaces.ts";
import {
  accountName,
  deploymentLabel,
  describeAccount,
  describeBudget,
  describeDeployment,
  describeNetworkPolicy,
  describeService,
  installationLabel,
  instanceLabel,
  manager,
  type NetworkRules,
  type ObjectFacts,
  objectName,
  scaler,
} from "./objects.ts";
import { KubernetesPicture } from "./picture.ts";
import type { OwnDeployment, Pod } from "./pods.ts";
import type { WorkspaceQuota } from "./quotas.ts";
import { requireSharedSecrets } from "./shared-secrets.ts";

export type KubernetesRuntimeOptions = Pick<NetworkRules, "platformRanges" | "databaseUrl"> &
  Pick<LostNodesOptions, "isSilent"> & {
    api: KubernetesApi;
    /** Of the platform, and of its servers unless each workspace has its own. */
    namespace: string;
    namespacePer?: NamespacePer;
    quota?: WorkspaceQuota;
    otherNamespaces?: readonly string[];
    /** Distinguishes the objects of one installation from those of another in the same namespace. */
    installation: string;
    /** The image that contains Treadle; built projects run in it. */
    baseImage: string;
    /** Around builds that run beside the platform; null where they run in pods, too. */
    walls: Pick<Walls, "isolation"> | null;
    /** Of all deployments; their logs are in it. */
    folder: string;
    /** Where pods reach the platform. */
    platformUrl(): string;
    /** How long a server may take to end, and to serve. */
    graceSeconds: number;
    startSeconds: number;
    /** What servers may see of this process's environment: files of certificates that it names are brought along. */
    machine?: Readonly<Record<string, string>>;
    logger: Logger;
  };

/** While the API server is away a start waits for it. */
const startPatienceMs = 5 * 60_000;
/** A pod that is deleted at once is gone at once, unless its node or the API server has trouble. */
const killPatienceMs = 60_000;
/** The cluster refuses an annotation that is no 32-bit number. */
const mostCost = 2 ** 31 - 1;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Each server is a Kubernetes Deployment, with what belongs to it. */
export class KubernetesRuntime implements Runtime {
  readonly name = "kubernetes";
  readonly runs = { built: true, images: true };
  /** Pods have addresses of their own. */
  readonly host = null;
  readonly outlivesPlatform = true;
  readonly readsClusterSecrets = true;
  readonly #options: KubernetesRuntimeOptions;
  readonly #api: KubernetesApi;
  /** By what they watch; null is the whole cluster. */
  readonly #pictures = new Map<string | null, KubernetesPicture<OwnDeployment>>();
  readonly #namespaces: KubernetesNamespaces;
  readonly #observed = new Map<string, Known>();
  readonly #lostNodes: LostNodes;

  constructor(options: KubernetesRuntimeOptions) {
    this.#options = options;
    this.#api = options.api;
    this.#namespaces = new KubernetesNamespaces(options);
    const pods = () => [...this.#observed.values()].flatMap((known) => this.#podsOf(known));
    const builds = () =>
      this.#namespaces.list<Pod>(
        ({ core }) => `${core}/pods`,
        `${installationLabel}=${options.installation},${buildLabel}`,
      );
    this.#lostNodes = new LostNodes({ ...options, pods, builds });
  }

  async isolation(): Promise<Isolation> {
    const { walls } = this.#options;
    return walls ? inContainers(await walls.isolation()) : containersOnly;
  }

  /** While the API server is away it is tried again: nothing is wrong with the server that is started. */
  async start(spec: StartSpec, signal: AbortSignal): Promise<Handle> {
    const deadline = performance.now() + startPatienceMs;
    for (let waitMs = 250; ; waitMs = Math.min(waitMs * 2, 10_000)) {
      try {
        return await this.#make(spec, signal);
      } catch (error) {
        signal.throwIfAborted();
        const passes = error instanceof AppError && error.retryable && performance.now() < deadline;
        if (!passes) throw error;
        await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  async isRunning(handle: Handle): Promise<boolean> {
    const found = await this.#read(handle as Known);
    return found !== null && found.spec.replicas > 0;
  }

  async *observe(handle: Handle, signal: AbortSignal): AsyncGenerator<Observation, void, undefined> {
    const known = handle as Known;
    const unwatch = this.#lostNodes.watch();
    this.#observed.set(known.instance, known);
    let last = "";
    try {
      for await (const { judged } of this.#follow(known, signal)) {
        if (!judged) continue;
        const { endpoints, ready, problem, lost } = judged;
        const observation = { endpoints, ready, problem, lost };
        const text = JSON.stringify(observation);
        if (text !== last) yield observation;
        last = text;
      }
    } finally {
      // The next watch may have begun meanwhile.
      if (this.#observed.get(known.instance) === known) this.#observed.delete(known.instance);
      unwatch();
    }
  }

  async ended(handle: Handle, signal: AbortSignal): Promise<Exit> {
    const known = handle as Known;
    const { logger } = this.#options;
    const namespace = this.#namespaceOf(known);
    const logs = new PodLogs({ api: this.#api, namespace, path: known.log_path, logger });
    try {
      for await (const { pods, judged, gone } of this.#follow(known, signal)) {
        logs.follow(pods);
        const end = gone ?? judged?.end ?? null;
        if (end === null) continue;
        await logs.end();
        // Whatever fails here, the server has ended; what is left of it is removed with all that belongs to no instance.
        await this.#clear(known, pods).catch((error: unknown) => {
          const facts = { name: known.name, reason: errorMessage(error) };
          logger.warn(facts, "what is left of a server that ended could not be removed yet");
        });
        return end;
      }
    } finally {
      await logs.release();
    }
    throw signal.reason;
  }

  /** Its node may have started the container of a pod again: nobody waits for what that one does. */
  async #clear(known: Known, pods: readonly Pod[]): Promise<void> {
    if (pods.length > 0) await this.scale(known, 0);
    const { core } = this.#pathsOf(known);
    for (const { metadata } of pods) {
      const path = `${core}/pods/${metadata.name}`;
      await this.#api.remove(path, { uid: metadata.uid, graceSeconds: 1 });
    }
    await this.#remove(known);
  }

  async stop(handle: Handle): Promise<void> {
    await this.scale(handle, 0);
  }

  async kill(handle: Handle): Promise<void> {
    const known = handle as Known;
    await this.scale(handle, 0);
    const selector = this.#selectorOf(known.instance);
    const { core } = this.#pathsOf(known);
    const deadline = performance.now() + killPatienceMs;
    for (;;) {
      const { items } = await this.#api.list<Pod>(`${core}/pods`, selector);
      if (items.length === 0) break;
      if (performance.now() > deadline) throw stillThere(items);
      for (const { metadata } of items) {
        const path = `${core}/pods/${metadata.name}`;
        await this.#api.remove(path, { uid: metadata.uid, graceSeconds: 0 });
      }
      await delay(100);
    }
    await this.#remove(known);
  }

  replicas(handle: Handle): number | null {
    const known = handle as Known;
    const namespace = this.#namespaceOf(known);
    const deployment = this.#pictureOf(namespace).of({ id: known.instance, namespace })?.owner;
    return deployment?.metadata.uid === known.uid ? deployment.spec.replicas : null;
  }

  async scale(handle: Handle, replicas: number, busy?: ReadonlyMap<string, number>): Promise<void> {
    const known = handle as Known;
    if (!(await this.#read(known))) return;
    const { core, apps } = this.#pathsOf(known);
    await Promise.all([...(busy ?? [])].map(([pod, work]) => this.#markCost(`${core}/pods/${pod}`, work)));
    await this.#api.patch(`${apps}/deployments/${known.name}/scale`, { spec: { replicas } }, scaler);
  }

  /** Of several pods, the cluster removes the cheapest first. Only a wish: without it another one goes. */
  async #markCost(path: string, work: number): Promise<void> {
    const cost = String(Math.min(mostCost, Math.round(work)));
    const metadata = { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } };
    try {
      await this.#api.patch(path, { metadata }, scaler);
    } catch (error) {
      this.#options.logger.warn({ path, reason: errorMessage(error) }, "a pod could not be marked as busy");
    }
  }

  /** Its servers are asked themselves: the metrics of a cluster have rates and no sums, and are not there in every one. */
  async usages(_handles: readonly Handle[]): Promise<Map<Handle, Usage>> {
    return new Map();
  }

  async find(instanceId: string): Promise<Handle | null> {
    const found = await this.#findDeployment(instanceId);
    const deployment = found?.metadata.labels?.[deploymentLabel] ?? "";
    // Others of the namespace may write labels: none leads out of the folder.
    if (!found || !uuid.test(deployment)) return null;
    return this.#handleOf(found, join(this.#options.folder, "logs", deployment, `${instanceId}.log`));
  }

  /** Everything of this installation that belongs to no instance among these goes. */
  async removeOthers(live: () => Promise<ReadonlySet<string>>): Promise<void> {
    const selector = `${installationLabel}=${this.#options.installation},${instanceLabel}`;
    // Rows are written before objects are made: what is listed first and has no row afterwards has none.
    const items = await this.#namespaces.list<OwnDeployment>(({ apps }) => `${apps}/deployments`, selector);
    const wanted = await live();
    for (const { metadata } of items) {
      if (wanted.has(metadata.labels?.[instanceLabel] ?? "")) continue;
      this.#options.logger.warn({ name: metadata.name }, "a Deployment that belongs to nothing is removed");
      const { apps } = pathsIn(metadata.namespace ?? this.#options.namespace);
      await this.#api.remove(`${apps}/deployments/${metadata.name}`, { uid: metadata.uid });
    }
  }

  async removeWorkspaces(isGone: (workspaceId: string) => Promise<boolean>): Promise<void> {
    await this.#namespaces.removeUnused(isGone);
  }

  async applyLimits(): Promise<void> {
    await this.#namespaces.applyLimits();
  }

  async #make(spec: StartSpec, signal: AbortSignal): Promise<Handle> {
    const prepare = (name: string) => this.#prepare(name);
    const namespace = await this.#namespaces.ready(spec.workspaceId, prepare, spec.namespace);
    signal.throwIfAborted();
    const { core, apps, budgets } = pathsIn(namespace);
    await requireSharedSecrets(this.#api, namespace, spec);
    const carried = await withCertificates(spec, this.#options);
    const sharedBy = this.#namespaces.sharedBy(namespace);
    const facts = { ...this.#factsOf(carried.spec), certificates: carried.certificates, sharedBy };
    const name = objectName(spec.instanceId);
    const described = describeDeployment(facts);
    const made = await this.#api.apply<OwnDeployment>(
      `${apps}/deployments/${name}`,
      { ...described, metadata: { ...described.metadata, annotations: annotationsOf(spec) } },
      manager,
      signal,
    );
    const owner = {
      ...{ apiVersion: "apps/v1", kind: "Deployment", name, uid: made.metadata.uid },
      ...{ controller: true, blockOwnerDeletion: false },
    };
    for (const secret of describeSecrets(facts, owner))
      await this.#api.apply(`${core}/secrets/${secret.metadata.name}`, secret, manager, signal);
    await this.#api.apply(`${core}/services/${name}`, describeService(facts, owner), manager, signal);
    if (spec.scale.min >= 2)
      await this.#api.apply(`${budgets}/${name}`, describeBudget(facts, owner), manager, signal);
    const { min, max } = spec.scale;
    const scale = { spec: { replicas: Math.min(max, Math.max(min, spec.replicasBefore ?? 0)) } };
    await this.#api.patch(`${apps}/deployments/${name}/scale`, scale, scaler, signal);
    const scaled = await this.#api.get<OwnDeployment>(`${apps}/deployments/${name}`, signal);
    return this.#handleOf(scaled ?? made, spec.logPath);
  }

  async #prepare(namespace: string): Promise<void> {
    const { installation, namespace: platform, platformUrl } = this.#options;
    const platformNamespace = namespace === platform ? undefined : platform;
    const sharedBy = this.#namespaces.sharedBy(namespace);
    const rules = { ...this.#options, platformUrl: platformUrl(), platformNamespace, sharedBy };
    const { core, policies } = pathsIn(namespace);
    const account = describeAccount(installation);
    await this.#api.apply(`${core}/serviceaccounts/${accountName}`, account, manager);
    const policy = describeNetworkPolicy(installation, rules);
    await this.#api.apply(`${policies}/${policy.metadata.name}`, policy, manager);
  }

  #factsOf(spec: StartSpec): ObjectFacts {
    const { installation, baseImage, graceSeconds, startSeconds, platformUrl } = this.#options;
    const artifactUrl = `${platformUrl()}/internal/artifacts/${spec.instanceId}`;
    return { spec, installation, baseImage, artifactUrl, graceSeconds, startSeconds };
  }

  #handleOf(deployment: OwnDeployment, logPath: string): Known {
    return knownOf(deployment, { namespace: this.#options.namespace, logPath });
  }

  #selectorOf(instanceId: string): string {
    return `${installationLabel}=${this.#options.installation},${instanceLabel}=${instanceId}`;
  }

  /** Null when it is gone, also when another has its name. */
  async #read(known: Known): Promise<OwnDeployment | null> {
    const { apps } = this.#pathsOf(known);
    const found = await this.#api.get<OwnDeployment>(`${apps}/deployments/${known.name}`);
    return found?.metadata.uid === known.uid ? found : null;
  }

  async #remove(known: Known): Promise<void> {
    const { apps } = this.#pathsOf(known);
    await this.#api.remove(`${apps}/deployments/${known.name}`, { uid: known.uid });
  }

  /** By its name alone it is not known of which workspace it is. */
  async #findDeployment(instanceId: string): Promise<OwnDeployment | null> {
    const { otherNamespaces = [] } = this.#options;
    if (this.#namespaces.isPerWorkspace || otherNamespaces.length > 0) {
      const selector = this.#selectorOf(instanceId);
      const found = await this.#namespaces.list<OwnDeployment>(({ apps }) => `${apps}/deployments`, selector);
      return found[0] ?? null;
    }
    const { apps } = pathsIn(this.#options.namespace);
    return await this.#api.get<OwnDeployment>(`${apps}/deployments/${objectName(instanceId)}`);
  }

  #namespaceOf({ namespace }: Known): string {
    return namespace ?? this.#options.namespace;
  }

  /** A server may have been started where servers are not started any more. */
  #pictureOf(namespace: string): KubernetesPicture<OwnDeployment> {
    const scope = this.#namespaces.isPerWorkspace ? null : namespace;
    const subject = { path: ({ apps }: Paths) => `${apps}/deployments`, label: instanceLabel };
    const picture =
      this.#pictures.get(scope) ?? new KubernetesPicture<OwnDeployment>({ ...this.#options, scope }, subject);
    this.#pictures.set(scope, picture);
    return picture;
  }

  #podsOf(known: Known): Pod[] {
    const namespace = this.#namespaceOf(known);
    return this.#pictureOf(namespace).of({ id: known.instance, namespace })?.pods ?? [];
  }

  #pathsOf(known: Known) {
    return pathsIn(this.#namespaceOf(known));
  }

  #follow(known: Known, signal: AbortSignal) {
    const isGone = (one: Known, until: AbortSignal) => this.#isGone(one, until);
    const namespace = this.#namespaceOf(known);
    return followInstance({ picture: this.#pictureOf(namespace), namespace, known, isGone }, signal);
  }

  /** Only an answer counts; while there is none, nothing is known. */
  async #isGone(known: Known, signal: AbortSignal): Promise<boolean | "unknown"> {
    try {
      return (await this.#read(known)) === null;
    } catch (error) {
      const facts = { name: known.name, reason: errorMessage(error) };
      this.#options.logger.warn(facts, "whether a server is still there cannot be asked; trying again");
      await delay(1_000, undefined, { signal }).catch(() => {});
      return "unknown";
    }
  }
}

function stillThere(pods: readonly Pod[]): AppError {
  const names = pods.map(({ metadata }) => metadata.name).join(", ");
  return new AppError({
    code: "runtime.kubernetes_refused",
    kind: "unavailable",
    message: `Pods are still there ${killPatienceMs / 1000} s after they were deleted: ${names}.`,
  });
}
