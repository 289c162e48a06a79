import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { BuildPodOrder } from "../../builds/pods/build-pods.ts";
import { type Certificate, certificateFolder } from "../certificates.ts";
import {
  accountName,
  awayFromLost,
  deploymentLabel,
  dnsPorts,
  everywhereBut,
  installationLabel,
  type NetworkRules,
  platformPods,
  privateRanges,
  privateRangesOf6,
  reach,
  tolerations,
  workspaceLabel,
} from "./objects.ts";

export const buildLabel = "treadle.dev/build";
export const buildContainer = "build";

/** The token and the environment are files: what is in the environment of a process, those it starts see too. */
const secretFolder = "/run/build";
export const buildFiles = {
  token: posix.join(secretFolder, "token"),
  environment: posix.join(secretFolder, "environment"),
};
const workFolder = "/work";
/** The Job stays a while for people who look at it, should nobody remove it. */
const ttlSeconds = 3_600;

export type BuildFacts = {
  order: Omit<BuildPodOrder, "token" | "environment">;
  installation: string;
  image: string;
  /** Where the pod finds the platform. */
  platformUrl: string;
  /** Null: no limit. */
  memoryBytes: number | null;
  cpus: number;
  /** Of what may be built. */
  maxBytes: number;
  trust?: BuildTrust;
};

/** Certificates of the operator, and the variables that name their files in the pod. */
export type BuildTrust = { certificates: readonly Certificate[]; variables: Record<string, string> };

export const buildName = (id: string) => `treadle-build-${id}`;

export function buildLabels({ order, installation }: Pick<BuildFacts, "order" | "installation">) {
  return {
    "app.kubernetes.io/managed-by": "treadle",
    [installationLabel]: installation,
    [workspaceLabel]: order.workspaceId,
    [deploymentLabel]: order.deploymentId,
    "treadle.dev/revision": order.revisionId,
    [buildLabel]: order.id,
  };
}

/** One attempt: a build that failed fails again, and one that was interrupted is told so. */
export function describeBuildJob(facts: BuildFacts) {
  const { order } = facts;
  const labels = buildLabels(facts);
  return {
    ...{ apiVersion: "batch/v1", kind: "Job", metadata: { name: buildName(order.id), labels } },
    spec: {
      ...{ backoffLimit: 0, completions: 1, parallelism: 1, ttlSecondsAfterFinished: ttlSeconds },
      activeDeadlineSeconds: Math.ceil(order.timeoutMs / 1000),
      template: { metadata: { labels }, spec: podOf(facts) },
    },
  };
}

/** What only this build's pod sees; it goes with the Job. */
export function describeBuildSecret(
  facts: BuildFacts,
  { token, environment }: Pick<BuildPodOrder, "token" | "environment">,
  owner: object,
) {
  const certificates = facts.trust?.certificates ?? [];
  const data = {
    ...Object.fromEntries(certificates.map(({ file, text }) => [file, text])),
    ...{ token, environment: JSON.stringify(environment) },
  };
  return {
    ...{ apiVersion: "v1", kind: "Secret", type: "Opaque" },
    metadata: {
      ...{ name: buildName(facts.order.id), labels: buildLabels(facts) },
      ownerReferences: [owner],
    },
    data: Object.fromEntries(
      Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString("base64")]),
    ),
  };
}

/** Nobody reaches a build; it reaches DNS, Treadle and the internet, and neither PostgreSQL nor the cluster. */
export function describeBuildPolicy(installation: string, rules: Omit<NetworkRules, "databaseUrl">) {
  const platform = reach(rules.platformUrl);
  const pods = platformPods(rules.platformNamespace);
  const ranges = rules.platformRanges.map((cidr) => ({ ipBlock: { cidr } }));
  const digest = createHash("sha256").update(installation).digest("hex").slice(0, 16);
  return {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" },
    metadata: { name: `treadle-build-${digest}`, labels: { [installationLabel]: installation } },
    spec: {
      podSelector: {
        matchLabels: { [installationLabel]: installation },
        matchExpressions: [{ key: buildLabel, operator: "Exists" }],
      },
      ...{ policyTypes: ["Ingress", "Egress"], ingress: [] },
      egress: [
        ...[{ ports: dnsPorts }, platform, { to: [pods, ...ranges], ports: platform.ports }],
        ...everywhereBut(privateRanges, privateRangesOf6).map((block) => ({ to: [block] })),
      ],
    },
  };
}

function podOf(facts: BuildFacts) {
  const { order, maxBytes } = facts;
  const secretName = buildName(order.id);
  const certificates = (facts.trust?.certificates ?? []).map(({ file }) => ({ key: file, path: file }));
  const items = ["token", "environment"].map((key) => ({ key, path: key }));
  const gigabytes = Math.ceil((4 * maxBytes) / 1024 ** 3);
  return {
    ...{ serviceAccountName: accountName, automountServiceAccountToken: false, enableServiceLinks: false },
    ...{ restartPolicy: "Never", terminationGracePeriodSeconds: 1 },
    ...{ tolerations, affinity: { podAntiAffinity: awayFromLost(facts.installation) } },
    securityContext: {
      ...{ runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
      ...{ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    },
    containers: [containerOf(facts)],
    volumes: [
      // The source, its packages, their cache, and what all of it is packed into.
      { name: "work", emptyDir: { sizeLimit: `${gigabytes}Gi` } },
      { name: "tmp", emptyDir: { sizeLimit: "1Gi" } },
      { name: "secret", secret: { secretName, defaultMode: 0o440, items } },
      ...(certificates.length > 0
        ? [{ name: "certificates", secret: { secretName, items: certificates } }]
        : []),
    ],
  };
}

function containerOf({ order, image, platformUrl, memoryBytes, cpus, trust }: BuildFacts) {
  const url = `${platformUrl}/internal/builds/${order.id}`;
  return {
    ...{ name: buildContainer, image, imagePullPolicy: "IfNotPresent" },
    command: [
      ...["treadle", "artifact", "build", url, workFolder],
      ...["--token-file", buildFiles.token, "--environment-file", buildFiles.environment],
    ],
    env: [
      { name: "HOME", value: "/tmp" },
      { name: "TMPDIR", value: "/tmp" },
      // Its commands get them from there, as they do everywhere.
      ...Object.entries(trust?.variables ?? {}).map(([name, value]) => ({ name, value })),
    ],
    securityContext: {
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    },
    // The last words of its log say why it could not even report.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: {
      requests: {
        cpu: `${Math.max(1, Math.round(cpus * 250))}m`,
        ...(memoryBytes === null ? {} : { memory: String(Math.round(memoryBytes / 4)) }),
      },
      limits: {
        cpu: `${Math.max(1, Math.round(cpus * 1000))}m`,
        ...(memoryBytes === null ? {} : { memory: String(memoryBytes) }),
      },
    },
    volumeMounts: [
      { name: "work", mountPath: workFolder },
      { name: "tmp", mountPath: "/tmp" },
      { name: "secret", mountPath: secretFolder, readOnly: true },
      ...(trust && trust.certificates.length > 0
        ? [{ name: "certificates", mountPath: certificateFolder, readOnly: true }]
        : []),
    ],
  };
}
