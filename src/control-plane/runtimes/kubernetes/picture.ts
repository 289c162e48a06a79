import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { KubernetesApi, KubernetesObject } from "./api.ts";
import { type Paths, pathsIn } from "./namespaces.ts";
import { installationLabel } from "./objects.ts";
import type { Pod } from "./pods.ts";
import { watchObjects } from "./watch.ts";

export type PictureOptions = {
  api: KubernetesApi;
  /** What is watched; null: the whole cluster. */
  scope: string | null;
  installation: string;
  logger: Logger;
};

/** Which objects make the pods, and the label by which both say what they belong to. */
export type PictureSubject = { path(paths: Paths): string; label: string };

/** One of them. What has its label in another namespace is somebody else's. */
export type PictureOf = { id: string; namespace: string };

/** What the cluster last showed of one instance or build: `owner` is its Deployment or its Job. */
export type Picture<Owner> = { owner: Owner | undefined; pods: Pod[] };

/**
 * Deployments or Jobs of this installation and their pods as the cluster shows them, by two watches for all of them.
 * They run while one is followed. While the API server is away the picture stays as it was.
 */
export class KubernetesPicture<Owner extends KubernetesObject> {
  readonly #options: PictureOptions;
  readonly #subject: PictureSubject;
  readonly #owners: Shelf<Owner>;
  readonly #pods: Shelf<Pod>;
  readonly #followers = new Map<string, Set<() => void>>();
  #watching: AbortController | undefined;

  constructor(options: PictureOptions, subject: PictureSubject) {
    this.#options = options;
    this.#subject = subject;
    this.#owners = new Shelf<Owner>(subject.label);
    this.#pods = new Shelf<Pod>(subject.label);
  }

  /**
   * What is to be seen of one, each time it may have changed, once the cluster has shown everything. The same is given
   * again after `lookAgainMs`.
   */
  async *looks(
    one: PictureOf,
    lookAgainMs: () => number | null,
    signal: AbortSignal,
  ): AsyncGenerator<Picture<Owner>, void, undefined> {
    let changed = Promise.withResolvers<void>();
    const wake = () => changed.resolve();
    const unfollow = this.#follow(one.id, wake);
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted) {
        changed = Promise.withResolvers<void>();
        const seen = this.of(one);
        if (seen) yield seen;
        if (!signal.aborted) await untilChanged(changed.promise, seen && lookAgainMs(), signal);
      }
    } finally {
      unfollow();
      signal.removeEventListener("abort", wake);
    }
  }

  /** Null before the cluster has shown everything. */
  of({ id, namespace }: PictureOf): Picture<Owner> | null {
    if (!this.#owners.isWhole || !this.#pods.isWhole) return null;
    const isThere = ({ metadata }: KubernetesObject) => metadata.namespace === namespace;
    return { owner: this.#owners.of(id).find(isThere), pods: this.#pods.of(id).filter(isThere) };
  }

  /** Calls back whenever something of it may have changed; returns how to end that. */
  #follow(id: string, onChange: () => void): () => void {
    const known = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, known.add(onChange));
    if (!this.#watching) this.#start();
    return () => {
      known.delete(onChange);
      if (known.size === 0 && this.#followers.get(id) === known) this.#followers.delete(id);
      if (this.#followers.size === 0) this.#stop();
    };
  }

  #start(): void {
    this.#watching = new AbortController();
    const { signal } = this.#watching;
    const paths = pathsIn(this.#options.scope);
    void this.#run(this.#subject.path(paths), this.#owners, signal);
    void this.#run(`${paths.core}/pods`, this.#pods, signal);
  }

  #stop(): void {
    this.#watching?.abort();
    this.#watching = undefined;
    this.#owners.clear();
    this.#pods.clear();
  }

  async #run<Item extends KubernetesObject>(
    path: string,
    shelf: Shelf<Item>,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, installation, logger } = this.#options;
    const labelSelector = `${installationLabel}=${installation},${this.#subject.label}`;
    const onTrouble = (error: unknown) =>
      logger.warn(
        { reason: errorMessage(error) },
        "the Kubernetes API server cannot be watched; trying again",
      );
    for await (const seen of watchObjects<Item>(api, { path, labelSelector, onTrouble }, signal)) {
      if (signal.aborted) return;
      if (seen.kind === "all") {
        shelf.replace(seen.objects);
        for (const id of [...this.#followers.keys()]) this.#notify(id);
      } else {
        if (seen.kind === "removed") shelf.remove(seen.object);
        else shelf.put(seen.object);
        this.#notify(shelf.idOf(seen.object));
      }
    }
  }

  #notify(id: string): void {
    for (const onChange of [...(this.#followers.get(id) ?? [])]) onChange();
  }
}

/** Objects by what they belong to. */
class Shelf<Item extends KubernetesObject> {
  readonly #label: string;
  readonly #items = new Map<string, Map<string, Item>>();
  isWhole = false;

  constructor(label: string) {
    this.#label = label;
  }

  idOf({ metadata }: KubernetesObject): string {
    return metadata.labels?.[this.#label] ?? "";
  }

  of(id: string): Item[] {
    return [...(this.#items.get(id)?.values() ?? [])];
  }

  replace(items: readonly Item[]): void {
    this.#items.clear();
    for (const item of items) this.put(item);
    this.isWhole = true;
  }

  put(item: Item): void {
    const id = this.idOf(item);
    const own = this.#items.get(id) ?? new Map<string, Item>();
    this.#items.set(id, own.set(item.metadata.uid, item));
  }

  remove(item: Item): void {
    const own = this.#items.get(this.idOf(item));
    own?.delete(item.metadata.uid);
    if (own?.size === 0) this.#items.delete(this.idOf(item));
  }

  clear(): void {
    this.#items.clear();
    this.isWhole = false;
  }
}

async function untilChanged(changed: Promise<void>, ms: number | null, signal: AbortSignal): Promise<void> {
  if (ms === null) return await changed;
  const timer = new AbortController();
  const timed = delay(ms, undefined, { signal: AbortSignal.any([timer.signal, signal]) }).catch(() => {});
  await Promise.race([changed, timed]);
  timer.abort();
}
