import { AppError } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { KubernetesApi, KubernetesObject } from "./api.ts";
import { installationLabel, manager, platformLabel } from "./objects.ts";
import { KubernetesRefusal } from "./refusal.ts";

/** What all pods of a workspace may have together; null: as much as there is. */
export type WorkspaceQuota = { memoryBytes: number | null; cpus: number | null; pods: number | null };

type Quota = KubernetesObject & { spec?: { hard?: Record<string, string> } };
type Options = {
  api: KubernetesApi;
  namespace: string;
  installation: string;
  quota?: WorkspaceQuota;
  logger: Logger;
};

export const quotaName = "treadle-workspace";

/**
 * Memory by the limits of pods, which every pod has: what it may take is what others lose. Processors by what is set aside:
 * not every pod has a limit of them, and what nobody uses may be lent.
 */
export function hardLimits({ memoryBytes, cpus, pods }: WorkspaceQuota): Record<string, string> {
  return {
    ...(memoryBytes === null ? {} : { "limits.memory": `${Math.round(memoryBytes / (1024 * 1024))}Mi` }),
    ...(cpus === null ? {} : { "requests.cpu": `${Math.round(cpus * 1000)}m` }),
    ...(pods === null ? {} : { pods: String(pods) }),
  };
}

/** One ResourceQuota in the namespace of each workspace, as the settings have it. Others there are not ours. */
export class KubernetesQuotas {
  readonly #options: Options;
  readonly #hard: Record<string, string>;

  constructor(options: Options) {
    this.#options = options;
    this.#hard = options.quota ? hardLimits(options.quota) : {};
  }

  /** Before anything is started there. */
  async keep(namespace: string): Promise<void> {
    if (this.#isNone) return;
    const { api } = this.#options;
    const described = {
      ...{ apiVersion: "v1", kind: "ResourceQuota", spec: { hard: this.#hard } },
      metadata: { name: quotaName, labels: this.#labels },
    };
    await api.apply(pathOf(namespace), described, manager);
  }

  /** Those that are there follow a changed setting; without one they go. */
  async keepAll(namespaces: () => Promise<ReadonlySet<string>>): Promise<void> {
    const found = await this.#list();
    if (this.#isNone && found.length === 0) return;
    const own = await namespaces();
    const kept = new Map(found.map(({ metadata, spec }) => [metadata.namespace ?? "", spec?.hard ?? {}]));
    for (const namespace of own) {
      try {
        await this.#follow(namespace, kept.get(namespace));
      } catch (error) {
        // For example one that is just being removed: the others follow all the same.
        if (!(error instanceof AppError && error.code === "runtime.kubernetes_refused")) throw error;
        const facts = { namespace, reason: error.message };
        this.#options.logger.warn(facts, "the limits of a workspace could not be set");
      }
    }
  }

  async #follow(namespace: string, hard: Record<string, string> | undefined): Promise<void> {
    if (this.#isNone && hard) await this.#options.api.remove(pathOf(namespace));
    else if (!hard || !isSame(hard, this.#hard)) await this.keep(namespace);
  }

  get #isNone(): boolean {
    return Object.keys(this.#hard).length === 0;
  }

  get #labels() {
    const { installation, namespace } = this.#options;
    return {
      "app.kubernetes.io/managed-by": "treadle",
      ...{ [installationLabel]: installation, [platformLabel]: namespace },
    };
  }

  async #list(): Promise<Quota[]> {
    const { api, installation, namespace } = this.#options;
    const selector = `${installationLabel}=${installation},${platformLabel}=${namespace}`;
    try {
      const { items } = await api.list<Quota>("/api/v1/resourcequotas", selector);
      return items.filter(({ metadata }) => metadata.name === quotaName);
    } catch (error) {
      // An account without the right has made none; whoever sets no limits need not have it.
      if (this.#isNone && error instanceof KubernetesRefusal && error.status === 403) return [];
      throw error;
    }
  }
}

const pathOf = (namespace: string) => `/api/v1/namespaces/${namespace}/resourcequotas/${quotaName}`;

const units: Record<string, number> = {
  ...{ "": 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12 },
  ...{ Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4 },
};

/** The API server writes amounts in its own way: 1000m is 1, and 2048Mi is 2Gi. */
function amountOf(quantity: string | undefined): number {
  const [, digits, unit = ""] = /^([\d.]+)(\w*)$/.exec(quantity ?? "") ?? [];
  return Number(digits) * (units[unit] ?? Number.NaN);
}

/** One that cannot be read is another. */
function isSame(found: Record<string, string>, wanted: Record<string, string>): boolean {
  const names = Object.keys(wanted);
  return (
    names.length === Object.keys(found).length &&
    names.every((name) => Math.abs(amountOf(found[name]) - amountOf(wanted[name])) < 1e-6)
  );
}
