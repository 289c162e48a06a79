import { z } from "zod";
import { isAddressRange } from "../platform/network/network-address.ts";
import { amount, commaList, list, text, whole } from "./fields.ts";
import { isLoopbackHost } from "./loopback.ts";
import { invalidSettings } from "./parse-settings.ts";
import type { Roles } from "./roles.ts";

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const mustBeLabel = "must be small letters, digits and hyphens, at most 63";

/** Settings for TREADLE_RUNTIME=kubernetes. */
export const kubernetesSettings = {
  TREADLE_KUBERNETES_IMAGE: text
    .optional()
    .describe(
      "Image that contains Treadle, as the cluster's nodes pull it; built deployments run in it with TREADLE_RUNTIME=kubernetes.",
    ),
  TREADLE_KUBERNETES_NAMESPACE: z
    .string()
    .regex(label, mustBeLabel)
    .optional()
    .describe(
      "Namespace for deployed servers, which must exist; default: that of this pod, or of the context in KUBECONFIG.",
    ),
  TREADLE_KUBERNETES_NAMESPACES: list
    .refine((given) => commaList(given).every((name) => label.test(name)), "must be names of namespaces")
    .describe(
      "For a listener: further namespaces that deployments may ask for (source_config.listener_config.k8s_namespace), separated by commas. They must exist, and the account needs its role in each.",
    ),
  TREADLE_KUBERNETES_NAMESPACE_PER: z
    .enum(["platform", "workspace"])
    .default("platform")
    .describe(
      "platform = all deployed servers are in TREADLE_KUBERNETES_NAMESPACE; workspace = those of each workspace, and its builds, are in a namespace of its own, which is made when it is needed. That needs rights in the whole cluster (docs/scale.md).",
    ),
  TREADLE_KUBERNETES_WORKSPACE_MEMORY_MB: whole(0, 100_000_000)
    .default(0)
    .describe(
      "With TREADLE_KUBERNETES_NAMESPACE_PER=workspace: the most memory that the limits of all pods of a workspace may come to, builds included; 0: no limit.",
    ),
  TREADLE_KUBERNETES_WORKSPACE_CPUS: amount(0, 100_000)
    .default(0)
    .describe(
      "With TREADLE_KUBERNETES_NAMESPACE_PER=workspace: the most processors that may be set aside for all pods of a workspace, builds included; 0: no limit.",
    ),
  TREADLE_KUBERNETES_WORKSPACE_PODS: whole(0, 1_000_000)
    .default(0)
    .describe(
      "With TREADLE_KUBERNETES_NAMESPACE_PER=workspace: the most pods of a workspace, builds included; 0: no limit.",
    ),
  TREADLE_KUBERNETES_INSTALLATION: z
    .string()
    .regex(label, mustBeLabel)
    .default("treadle")
    .describe(
      "Label of this installation's objects. Two installations in one namespace need different ones: each removes what has its label and belongs to none of its deployments.",
    ),
  TREADLE_KUBERNETES_PLATFORM_RANGES: list
    .refine(
      (given) => commaList(given).every((range) => range.includes("/") && isAddressRange(range)),
      "must be ranges such as 10.0.0.0/8 or 10.1.2.3/32, separated by commas",
    )
    .describe(
      "Address ranges from which this platform reaches deployed servers, separated by commas. Not needed where it is a pod in the same namespace with the label app.kubernetes.io/name=treadle.",
    ),
  TREADLE_BUILDS: z
    .enum(["jobs", "here"])
    .optional()
    .describe(
      "Where deployments are built: jobs = each in a Kubernetes Job, without credentials of the platform; here = in the process with the role builder, in a sandbox. Default: jobs with TREADLE_RUNTIME=kubernetes, otherwise here.",
    ),
  TREADLE_BUILD_MEMORY_MB: whole(0, 1_000_000)
    .default(2_048)
    .describe("Memory limit of a build, with TREADLE_BUILDS=jobs; 0: no limit."),
  TREADLE_BUILD_CPUS: amount(0.1, 256)
    .default(2)
    .describe("Processors that a build may use, with TREADLE_BUILDS=jobs; a quarter of them is requested."),
  KUBECONFIG: text
    .optional()
    .describe(
      "File that says how to reach the cluster, as kubectl uses it, with TREADLE_RUNTIME=kubernetes; default: as every pod can.",
    ),
  KUBERNETES_SERVICE_HOST: text
    .optional()
    .describe("Address of the API server. Kubernetes sets it in every pod."),
  KUBERNETES_SERVICE_PORT: text
    .default("443")
    .describe("Port of the API server. Kubernetes sets it in every pod."),
};

export type KubernetesConfig = ReturnType<typeof kubernetesConfigOf>;

export function kubernetesConfigOf(env: z.output<z.ZodObject<typeof kubernetesSettings>>) {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  return {
    image: env.TREADLE_KUBERNETES_IMAGE,
    namespace: env.TREADLE_KUBERNETES_NAMESPACE,
    otherNamespaces: commaList(env.TREADLE_KUBERNETES_NAMESPACES),
    namespacePer: env.TREADLE_KUBERNETES_NAMESPACE_PER,
    workspaceQuota: {
      memoryBytes: env.TREADLE_KUBERNETES_WORKSPACE_MEMORY_MB * 1024 * 1024 || null,
      cpus: env.TREADLE_KUBERNETES_WORKSPACE_CPUS || null,
      pods: env.TREADLE_KUBERNETES_WORKSPACE_PODS || null,
    },
    installation: env.TREADLE_KUBERNETES_INSTALLATION,
    platformRanges: commaList(env.TREADLE_KUBERNETES_PLATFORM_RANGES),
    builds: env.TREADLE_BUILDS,
    buildMemoryBytes: env.TREADLE_BUILD_MEMORY_MB === 0 ? null : env.TREADLE_BUILD_MEMORY_MB * 1024 * 1024,
    buildCpus: env.TREADLE_BUILD_CPUS,
    kubeconfig: env.KUBECONFIG,
    service: host === undefined ? undefined : { host, port },
  };
}

type Cluster = { roles: Roles; deployments: { runtime: string; buildsAreJobs: boolean } };

const has = (roles: Roles, role: "controller" | "builder") => roles === "all" || roles.includes(role);

/** Whether a process with these roles asks the cluster's API; no other one has its credentials. */
export function usesCluster({ roles, deployments }: Cluster): boolean {
  return has(roles, "controller") || (deployments.buildsAreJobs && has(roles, "builder"));
}

/** Whether builds, which are code of strangers, run in a process that has the cluster's credentials. */
export function buildsBesideCluster(config: Cluster): boolean {
  const { runtime, buildsAreJobs } = config.deployments;
  return runtime === "kubernetes" && !buildsAreJobs && has(config.roles, "builder") && usesCluster(config);
}

type Needed = {
  roles: Roles;
  databaseUrl: string | undefined;
  internalUrl: string | undefined;
  deployments: { runtime: string; buildsAreJobs: boolean; kubernetes: KubernetesConfig };
};

/** Refuses a start whose pods could not work. Everything that is missing is in the one message. */
export function requireKubernetesSettings(config: Needed): void {
  const { runtime, kubernetes } = config.deployments;
  if (runtime !== "kubernetes" && kubernetes.builds === "jobs")
    throw invalidSettings("TREADLE_BUILDS=jobs needs TREADLE_RUNTIME=kubernetes.");
  if (runtime !== "kubernetes") return;
  if (kubernetes.namespacePer === "workspace" && kubernetes.otherNamespaces.length > 0)
    throw invalidSettings(
      "TREADLE_KUBERNETES_NAMESPACES names namespaces, and TREADLE_KUBERNETES_NAMESPACE_PER=workspace makes them. Leave one of them out.",
    );
  requireOwnNamespaces(kubernetes);
  const missing = missingForKubernetes(config);
  if (missing.length === 0) return;
  throw invalidSettings(
    `TREADLE_RUNTIME=kubernetes runs deployed servers as pods of a cluster. Set:\n  ${missing.join("\n  ")}`,
  );
}

/** Limits that nothing would hold are refused. */
function requireOwnNamespaces({ namespacePer, workspaceQuota }: KubernetesConfig): void {
  if (namespacePer === "workspace" || Object.values(workspaceQuota).every((limit) => limit === null)) return;
  throw invalidSettings(
    "TREADLE_KUBERNETES_WORKSPACE_MEMORY_MB, _CPUS and _PODS limit the namespace of each workspace, and all workspaces share one here. Set TREADLE_KUBERNETES_NAMESPACE_PER=workspace, or leave them out.",
  );
}

function missingForKubernetes(config: Needed): string[] {
  const { databaseUrl, internalUrl, deployments } = config;
  const { image, kubeconfig, service } = deployments.kubernetes;
  const isReached = (url: string | undefined) => {
    const host = url !== undefined && URL.canParse(url) ? new URL(url).hostname : "";
    return host !== "" && !isLoopbackHost(host);
  };
  return [
    ...(image === undefined
      ? [
          "TREADLE_KUBERNETES_IMAGE: the image that contains Treadle, such as registry.example.com/treadle:0.1.0",
        ]
      : []),
    ...(isReached(databaseUrl)
      ? []
      : [
          "DATABASE_URL: a PostgreSQL server that pods reach, so neither the embedded one nor one on loopback",
        ]),
    ...(isReached(internalUrl)
      ? []
      : ["TREADLE_INTERNAL_URL: where pods reach this server, such as http://treadle.treadle.svc:8124"]),
    ...(usesCluster(config) && kubeconfig === undefined && service === undefined
      ? ["KUBECONFIG: a file that says how to reach the cluster; only a pod can do without"]
      : []),
  ];
}
