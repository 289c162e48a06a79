import { createHash } from "node:crypto";
import { AppError } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { KubernetesApi, KubernetesObject } from "./api.ts";
import { installationLabel, platformLabel, workspaceLabel } from "./objects.ts";
import { KubernetesQuotas, type WorkspaceQuota } from "./quotas.ts";
import { KubernetesRefusal } from "./refusal.ts";

/** `platform`: one namespace for all; `workspace`: one for each workspace, beside that of the platform. */
export type NamespacePer = "platform" | "workspace";

export type NamespacesOptions = {
  api: KubernetesApi;
  /** Of the platform. */
  namespace: string;
  namespacePer?: NamespacePer;
  /** Further ones that a server may ask for; they are never made or removed, and other platforms may have them, too. */
  otherNamespaces?: readonly string[];
  installation: string;
  /** Of each workspace, where it has a namespace of its own. */
  quota?: WorkspaceQuota;
  logger: Logger;
};

type Namespace = KubernetesObject & { status?: { phase?: string } };

const mostLetters = 63;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Where the objects of one kind are; null: those of all namespaces. */
export function pathsIn(namespace: string | null) {
  const inside = namespace === null ? "" : `/namespaces/${namespace}`;
  return {
    core: `/api/v1${inside}`,
    apps: `/apis/apps/v1${inside}`,
    jobs: `/apis/batch/v1${inside}/jobs`,
    policies: `/apis/networking.k8s.io/v1${inside}/networkpolicies`,
    budgets: `/apis/policy/v1${inside}/poddisruptionbudgets`,
  };
}

export type Paths = ReturnType<typeof pathsIn>;

/** At most 63 letters, and no two workspaces or platforms have the same. */
export function namespaceOfWorkspace(platform: string, workspaceId: string): string {
  const whole = `${platform}-${workspaceId}`;
  if (whole.length <= mostLetters) return whole;
  const digest = createHash("sha256").update(platform).digest("hex").slice(0, 8);
  const start = platform.slice(0, mostLetters - workspaceId.length - digest.length - 2).replace(/-+$/, "");
  return `${start}-${digest}-${workspaceId}`;
}

/** Made, never changed: a namespace of the same name that somebody else made stays as it is. */
export function describeNamespace(
  { namespace, installation }: Pick<NamespacesOptions, "namespace" | "installation">,
  workspaceId: string,
) {
  return {
    ...{ apiVersion: "v1", kind: "Namespace" },
    metadata: {
      name: namespaceOfWorkspace(namespace, workspaceId),
      labels: {
        "app.kubernetes.io/managed-by": "treadle",
        [installationLabel]: installation,
        [platformLabel]: namespace,
        [workspaceLabel]: workspaceId,
        // Our pods need no more than this; whatever else is put there may have no more.
        "pod-security.kubernetes.io/enforce": "restricted",
      },
    },
  };
}

/**
 * The namespaces of one installation. With one for each workspace everything is watched and listed across the cluster
 * by label, two watches in all: one pair for each namespace would be a hundred connections for fifty workspaces. Others
 * may write our labels in namespaces of their own, so what is seen counts only in a namespace that is ours.
 */
export class KubernetesNamespaces {
  readonly #options: NamespacesOptions;
  readonly #quotas: KubernetesQuotas;
  /** By namespace and uid: one that was removed and made again is another. */
  readonly #prepared = new Map<string, Promise<void>>();
  #mayList: Promise<void> | undefined;

  constructor(options: NamespacesOptions) {
    this.#options = options;
    this.#quotas = new KubernetesQuotas(options);
  }

  get isPerWorkspace(): boolean {
    return this.#options.namespacePer === "workspace";
  }

  /** What is watched and listed; null: the whole cluster. */
  get scope(): string | null {
    return this.isPerWorkspace ? null : this.#options.namespace;
  }

  of(workspaceId: string): string {
    const { namespace } = this.#options;
    return this.isPerWorkspace ? namespaceOfWorkspace(namespace, workspaceId) : namespace;
  }

  /** Where it would be if `namespacePer` were the other one, as it may have been before. */
  otherOf(workspaceId: string): string {
    const { namespace } = this.#options;
    return this.isPerWorkspace ? namespace : namespaceOfWorkspace(namespace, workspaceId);
  }

  /** Of what is made there, where others may make the same: the namespace of this platform. */
  sharedBy(name: string): string | undefined {
    const { namespace, otherNamespaces = [] } = this.#options;
    return name !== namespace && otherNamespaces.includes(name) ? namespace : undefined;
  }

  /**
   * Makes it if it is not there; `prepare` makes what everything in it uses, once in each process. One that is asked for
   * is prepared each time: its owner may have made it again.
   */
  async ready(
    workspaceId: string,
    prepare: (namespace: string) => Promise<void>,
    wanted: string | null = null,
  ): Promise<string> {
    const name = wanted ?? this.of(workspaceId);
    if (wanted !== null) {
      this.#requireListed(wanted);
      await this.#explained(() => prepare(name), wanted);
      return name;
    }
    const uid = this.isPerWorkspace ? await this.#ensure(workspaceId) : "";
    const key = `${name}/${uid}`;
    const prepared = this.#prepared.get(key) ?? this.#explained(() => this.#prepare(name, prepare));
    this.#prepared.set(key, prepared);
    await prepared.catch((error: unknown) => {
      this.#prepared.delete(key);
      throw error;
    });
    return name;
  }

  /** Those in which this installation's objects are, its own first. */
  async own(): Promise<Set<string>> {
    const { namespace } = this.#options;
    const workspaces = this.isPerWorkspace ? await this.#listOwn() : [];
    return new Set([namespace, ...workspaces.map(({ metadata }) => metadata.name)]);
  }

  /** Whatever is listed here is refused with words about the rights that are missing. */
  async list<Item>(pathOf: (paths: Paths) => string, selector: string) {
    const { api, namespace, otherNamespaces = [] } = this.#options;
    // Another platform may have ours among its others.
    const own = `${selector},!${platformLabel}`;
    const { items } = await this.#explained(() => api.list<Item>(pathOf(pathsIn(this.scope)), own));
    const others = otherNamespaces.filter((name) => !this.isPerWorkspace && name !== namespace);
    for (const name of others) {
      const shared = `${selector},${platformLabel}=${namespace}`;
      items.push(...(await this.#listIn<Item>(name, pathOf(pathsIn(name)), shared)));
    }
    if (!this.isPerWorkspace) return items;
    const names = await this.own();
    return items.filter(({ metadata }) => names.has(metadata.namespace ?? ""));
  }

  /** Those of workspaces that are gone, once nothing runs in them. Other objects in them go, too. */
  async removeUnused(isGone: (workspaceId: string) => Promise<boolean>): Promise<void> {
    if (!this.isPerWorkspace) return;
    const { api, logger } = this.#options;
    for (const { metadata, status } of await this.#listOwn()) {
      if (status?.phase === "Terminating") continue;
      if (!(await isGone(metadata.labels?.[workspaceLabel] ?? ""))) continue;
      const { core, apps, jobs } = pathsIn(metadata.name);
      const paths = [`${apps}/deployments`, jobs, `${core}/pods`];
      const left = await Promise.all(paths.map((path) => api.list(path, "")));
      if (left.some(({ items }) => items.length > 0)) continue;
      logger.info({ namespace: metadata.name }, "the namespace of a workspace that is gone is removed");
      await this.#explained(() => api.remove(pathOf(metadata.name), { uid: metadata.uid }));
    }
  }

  /** Namespaces that are there get the limits of workspaces as they are set now. */
  async applyLimits(): Promise<void> {
    if (!this.isPerWorkspace) return;
    const ofWorkspaces = async () => {
      const live = (await this.#listOwn()).filter(({ status }) => status?.phase !== "Terminating");
      return new Set(live.map(({ metadata }) => metadata.name));
    };
    await this.#explained(() => this.#quotas.keepAll(ofWorkspaces));
  }

  /** The limits first: what is started right after counts. */
  async #prepare(name: string, prepare: (namespace: string) => Promise<void>): Promise<void> {
    if (this.isPerWorkspace) await this.#quotas.keep(name);
    await prepare(name);
  }

  /** Where nothing may be done nothing of ours can be; what is in the others is looked after nevertheless. */
  async #listIn<Item>(namespace: string, path: string, selector: string) {
    const { api, logger } = this.#options;
    try {
      return (await api.list<Item>(path, selector)).items;
    } catch (error) {
      if (!(error instanceof KubernetesRefusal) || error.status !== 403) throw error;
      logger.warn(
        { namespace, reason: error.message },
        "a namespace of TREADLE_KUBERNETES_NAMESPACES is left out",
      );
      return [];
    }
  }

  #requireListed(wanted: string): void {
    const { namespace, otherNamespaces = [] } = this.#options;
    if (wanted === namespace || otherNamespaces.includes(wanted)) return;
    throw new AppError({
      code: "runtime.namespace_refused",
      kind: "invalid",
      message: `It asks for the namespace ${wanted}, which this listener does not use. Add it to TREADLE_KUBERNETES_NAMESPACES of the listener, or leave listener_config out.`,
    });
  }

  async #listOwn(): Promise<Namespace[]> {
    const { api, installation, namespace } = this.#options;
    const selector = `${installationLabel}=${installation},${platformLabel}=${namespace},${workspaceLabel}`;
    const { items } = await this.#explained(() => api.list<Namespace>("/api/v1/namespaces", selector));
    return items.filter((found) => this.#isOwn(found));
  }

  async #ensure(workspaceId: string): Promise<string> {
    const { api } = this.#options;
    if (!uuid.test(workspaceId)) throw refused(`"${workspaceId}" is the id of no workspace.`, false);
    this.#mayList ??= this.#checkLists();
    await this.#mayList.catch((error: unknown) => {
      this.#mayList = undefined;
      throw error;
    });
    const described = describeNamespace(this.#options, workspaceId);
    const { name } = described.metadata;
    const found = await this.#explained(
      async () =>
        (await api.get<Namespace>(pathOf(name))) ??
        (await api.create<Namespace>("/api/v1/namespaces", described)) ??
        (await api.get<Namespace>(pathOf(name))),
    );
    if (!found || found.status?.phase === "Terminating" || found.metadata.deletionTimestamp)
      throw refused(`The namespace ${name} is being removed. It is made again when it is gone.`, true);
    if (this.#isOwn(found) && found.metadata.labels?.[workspaceLabel] === workspaceId)
      return found.metadata.uid;
    throw refused(
      `The namespace ${name} exists, and this installation did not make it: it lacks the labels ${installationLabel}=${this.#options.installation}, ${platformLabel}=${this.#options.namespace} and ${workspaceLabel}=${workspaceId}. Nothing is put there. Remove it, or set these labels if it is meant for this workspace.`,
      false,
    );
  }

  /** A server whose pods nobody can see would only wait. */
  async #checkLists(): Promise<void> {
    const { api, installation } = this.#options;
    const { core, apps, jobs } = pathsIn(null);
    const selector = `${installationLabel}=${installation},${workspaceLabel}=none`;
    await this.#explained(async () => {
      for (const path of [`${apps}/deployments`, `${core}/pods`, jobs]) await api.list(path, selector);
    });
  }

  #isOwn({ metadata: { name, labels = {} } }: Namespace): boolean {
    const { installation, namespace } = this.#options;
    return (
      labels[installationLabel] === installation &&
      labels[platformLabel] === namespace &&
      name === namespaceOfWorkspace(namespace, labels[workspaceLabel] ?? "")
    );
  }

  async #explained<Answer>(ask: () => Promise<Answer>, wanted: string | null = null): Promise<Answer> {
    try {
      return await ask();
    } catch (error) {
      if (wanted !== null && error instanceof KubernetesRefusal && error.status === 403)
        throw refused(
          `${error.message} The account has no rights in the namespace ${wanted}: \`kubectl --namespace ${wanted} apply -f deploy/kubernetes-role.json\`, with the account's own namespace in its subjects.`,
          false,
        );
      if (!this.isPerWorkspace || !(error instanceof KubernetesRefusal) || error.status !== 403) throw error;
      throw refused(
        `${error.message} With TREADLE_KUBERNETES_NAMESPACE_PER=workspace the platform's account needs the rights of deploy/kubernetes-cluster-role.json: \`kubectl apply\` it, or set settings.TREADLE_KUBERNETES_NAMESPACE_PER in the values of the chart, which makes them.`,
        false,
      );
    }
  }
}

const pathOf = (name: string) => `/api/v1/namespaces/${name}`;

function refused(message: string, retryable: boolean): AppError {
  return new AppError({ code: "runtime.kubernetes_refused", kind: "unavailable", retryable, message });
}
