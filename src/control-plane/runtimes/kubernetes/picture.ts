import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { KubernetesApi, KubernetesObject } from "./api.ts";
import { installationLabel, instanceLabel } from "./objects.ts";
import type { OwnDeployment, Pod } from "./pods.ts";
import { watchObjects } from "./watch.ts";

export type PictureOptions = {
  api: KubernetesApi;
  namespace: string;
  installation: string;
  logger: Logger;
};

/** What the cluster last showed of one instance. */
export type InstancePicture = { deployment: OwnDeployment | undefined; pods: Pod[] };

/**
 * Deployments and pods of this installation as the cluster shows them, by two watches for all instances. They run while
 * an instance is followed. While the API server is away the picture stays as it was.
 */
export class KubernetesPicture {
  readonly #options: PictureOptions;
  readonly #deployments = new Shelf<OwnDeployment>();
  readonly #pods = new Shelf<Pod>();
  readonly #followers = new Map<string, Set<() => void>>();
  #watching: AbortController | undefined;

  constructor(options: PictureOptions) {
    this.#options = options;
  }

  /** Calls back whenever something of the instance may have changed; returns how to end that. */
  follow(instanceId: string, onChange: () => void): () => void {
    const known = this.#followers.get(instanceId) ?? new Set();
    this.#followers.set(instanceId, known.add(onChange));
    if (!this.#watching) this.#start();
    return () => {
      known.delete(onChange);
      if (known.size === 0 && this.#followers.get(instanceId) === known) this.#followers.delete(instanceId);
      if (this.#followers.size === 0) this.#stop();
    };
  }

  /** Null before the cluster has shown everything. */
  of(instanceId: string): InstancePicture | null {
    if (!this.#deployments.isWhole || !this.#pods.isWhole) return null;
    const [deployment] = this.#deployments.of(instanceId);
    return { deployment, pods: this.#pods.of(instanceId) };
  }

  #start(): void {
    this.#watching = new AbortController();
    const { namespace } = this.#options;
    const { signal } = this.#watching;
    void this.#run(`/apis/apps/v1/namespaces/${namespace}/deployments`, this.#deployments, signal);
    void this.#run(`/api/v1/namespaces/${namespace}/pods`, this.#pods, signal);
  }

  #stop(): void {
    this.#watching?.abort();
    this.#watching = undefined;
    this.#deployments.clear();
    this.#pods.clear();
  }

  async #run<Item extends KubernetesObject>(
    path: string,
    shelf: Shelf<Item>,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, installation, logger } = this.#options;
    const labelSelector = `${installationLabel}=${installation},${instanceLabel}`;
    const onTrouble = (error: unknown) =>
      logger.warn(
        { reason: errorMessage(error) },
        "the Kubernetes API server cannot be watched; trying again",
      );
    for await (const seen of watchObjects<Item>(api, { path, labelSelector, onTrouble }, signal)) {
      if (signal.aborted) return;
      if (seen.kind === "all") {
        shelf.replace(seen.objects);
        for (const instanceId of [...this.#followers.keys()]) this.#notify(instanceId);
      } else {
        if (seen.kind === "removed") shelf.remove(seen.object);
        else shelf.put(seen.object);
        this.#notify(instanceOf(seen.object));
      }
    }
  }

  #notify(instanceId: string): void {
    for (const onChange of [...(this.#followers.get(instanceId) ?? [])]) onChange();
  }
}

const instanceOf = ({ metadata }: KubernetesObject) => metadata.labels?.[instanceLabel] ?? "";

class Shelf<Item extends KubernetesObject> {
  readonly #items = new Map<string, Map<string, Item>>();
  isWhole = false;

  of(instanceId: string): Item[] {
    return [...(this.#items.get(instanceId)?.values() ?? [])];
  }

  replace(items: readonly Item[]): void {
    this.#items.clear();
    for (const item of items) this.put(item);
    this.isWhole = true;
  }

  put(item: Item): void {
    const instanceId = instanceOf(item);
    const own = this.#items.get(instanceId) ?? new Map<string, Item>();
    this.#items.set(instanceId, own.set(item.metadata.uid, item));
  }

  remove(item: Item): void {
    const own = this.#items.get(instanceOf(item));
    own?.delete(item.metadata.uid);
    if (own?.size === 0) this.#items.delete(instanceOf(item));
  }

  clear(): void {
    this.#items.clear();
    this.isWhole = false;
  }
}
