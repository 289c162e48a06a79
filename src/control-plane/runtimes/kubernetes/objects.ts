import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { posix } from "node:path";
import type { SecretReference } from "../../desired-state/secret-references.ts";
import { type Certificate, certificateFolder } from "../certificates.ts";
import { type Resources, readyFileName, type StartSpec } from "../runtime.ts";

/** The fields of Treadle, and the number of replicas, which another manager may take over. */
export const manager = "treadle";
export const scaler = "treadle-scaler";
/** Of every pod of a deployment: it may ask the API server nothing. */
export const accountName = "treadle-agent";
export const instanceLabel = "treadle.dev/instance";
export const deploymentLabel = "treadle.dev/deployment";
export const revisionLabel = "treadle.dev/revision";
export const workspaceLabel = "treadle.dev/workspace";
export const installationLabel = "treadle.dev/installation";
/**
 * The namespace of the platform that made it: installations of two platforms may have the same name. Namespaces have it,
 * and whatever is in one that several platforms may share.
 */
export const platformLabel = "treadle.dev/platform-namespace";
/** Of a pod whose node is lost: as long as it is there, no other of the installation is put beside it. */
export const lostLabel = "treadle.dev/lost";
export const serverContainer = "server";
export const fetchContainer = "artifact";

const folders = {
  project: "/deps/project",
  home: "/home/agent",
  instance: "/run/treadle",
  token: "/run/token",
};
const secretKey = "TREADLE_INSTANCE_SECRET";
const megabyte = 1024 * 1024;
/** Variables that the platform sets for its own child processes, and that an image has already. */
const ownPaths = ["PATH", "HOME", "TMPDIR"];

/** Of everything in a namespace that several platforms may share: the namespace of the platform that made it. */
type Sharing = { sharedBy?: string | undefined };

export type ObjectFacts = Sharing & {
  spec: StartSpec;
  installation: string;
  /** Built projects run in it. */
  baseImage: string;
  /** Where a pod asks for what was built. */
  artifactUrl: string;
  /** Of the operator, for calls to the platform and others. */
  certificates?: readonly Certificate[];
  /** How long a server may take to end. */
  graceSeconds: number;
  /** How long it may take to serve. */
  startSeconds: number;
};

export const objectName = (instanceId: string) => `t-${instanceId}`;
export const certificatesName = (instanceId: string) => `t-${instanceId}-certificates`;

const hasCertificates = ({ certificates }: ObjectFacts) => (certificates ?? []).length > 0;
const certificateMounts = (facts: ObjectFacts) =>
  hasCertificates(facts) ? [{ name: "certificates", mountPath: certificateFolder, readOnly: true }] : [];

/** What belongs to everything of one instance. */
export function labelsOf({ spec, ...facts }: Pick<ObjectFacts, "spec" | "installation" | "sharedBy">) {
  return {
    "app.kubernetes.io/managed-by": "treadle",
    ...ownerLabels(facts),
    [workspaceLabel]: spec.workspaceId,
    [deploymentLabel]: spec.deploymentId,
    [revisionLabel]: spec.revisionId,
    [instanceLabel]: spec.instanceId,
  };
}

function ownerLabels({ installation, sharedBy }: Pick<ObjectFacts, "installation" | "sharedBy">) {
  return {
    [installationLabel]: installation,
    ...(sharedBy === undefined ? {} : { [platformLabel]: sharedBy }),
  };
}

/** Without replicas: it owns the other objects, which must be there before a pod is. */
export function describeDeployment(facts: ObjectFacts) {
  const { spec } = facts;
  const metadata = { name: objectName(spec.instanceId), labels: labelsOf(facts) };
  const selector = { matchLabels: { [instanceLabel]: spec.instanceId } };
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata },
    spec: {
      ...{ replicas: 0, revisionHistoryLimit: 0, selector, progressDeadlineSeconds: 600 },
      strategy: { type: "Recreate" },
      template: { metadata: { labels: labelsOf(facts) }, spec: podOf(facts) },
    },
  };
}

/** The environment, which holds the deployment's secrets. */
export function describeSecret(facts: ObjectFacts, owner: object) {
  const { spec } = facts;
  const kept = Object.entries(spec.environment).filter(([name]) => !ownPaths.includes(name));
  return {
    ...{ apiVersion: "v1", kind: "Secret", type: "Opaque" },
    metadata: { ...owned(facts, owner) },
    data: Object.fromEntries(kept.map(([name, value]) => [name, Buffer.from(value).toString("base64")])),
  };
}

export function describeService(facts: ObjectFacts, owner: object) {
  const { instanceId, port } = facts.spec;
  return {
    ...{ apiVersion: "v1", kind: "Service", metadata: owned(facts, owner) },
    spec: {
      ...{ type: "ClusterIP", selector: { [instanceLabel]: instanceId } },
      ports: [{ name: "http", port, targetPort: port, protocol: "TCP" }],
    },
  };
}

/** Whoever empties a node takes one pod at a time; one that does not serve may go at any time. */
export function describeBudget(facts: ObjectFacts, owner: object) {
  const selector = { matchLabels: { [instanceLabel]: facts.spec.instanceId } };
  return {
    ...{ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: owned(facts, owner) },
    spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow", selector },
  };
}

function owned(facts: ObjectFacts, owner: object) {
  return { name: objectName(facts.spec.instanceId), labels: labelsOf(facts), ownerReferences: [owner] };
}

export function describeAccount(installation: string) {
  return {
    ...{ apiVersion: "v1", kind: "ServiceAccount", automountServiceAccountToken: false },
    metadata: { name: accountName, labels: { [installationLabel]: installation } },
  };
}

export type NetworkRules = Sharing & {
  /** Where the platform's pods are, if not in the namespace of the policy. */
  platformNamespace?: string | undefined;
  /** Addresses of gateways and controllers that are not pods of this namespace. */
  platformRanges: readonly string[];
  databaseUrl: string;
  platformUrl: string;
};

/** Of clouds: whoever asks there gets the machine's own credentials. */
const metadataRanges = ["169.254.0.0/16", "168.63.129.16/32"];
const metadataRangesOf6 = ["fd00:ec2::254/128", "fe80::/10"];
export const privateRanges = [
  "10.0.0.0/8",
  "100.64.0.0/10",
  "172.16.0.0/12",
  "192.168.0.0/16",
  ...metadataRanges,
];

export const privateRangesOf6 = ["fc00::/7", "fe80::/10"];
export const dnsPorts = ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 }));

/** Of the platform, in the same namespace unless another is named. */
export function platformPods(namespace: string | undefined) {
  const podSelector = { matchLabels: { "app.kubernetes.io/name": "treadle" } };
  if (namespace === undefined) return { podSelector };
  // Kubernetes itself sets this label.
  return { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } }, podSelector };
}

/** Into a server's pod come gateways and controllers; out of it go DNS, PostgreSQL, Treadle and the internet. */
export function describeNetworkPolicy(installation: string, rules: NetworkRules) {
  const platformRanges = rules.platformRanges.map((cidr) => ({ ipBlock: { cidr } }));
  const platform = reach(rules.platformUrl);
  const pods = platformPods(rules.platformNamespace);
  const { sharedBy } = rules;
  const labels = ownerLabels({ installation, sharedBy });
  // Policies add up: that of the platform whose namespace it is would open the servers of others in it.
  const notOfOthers = sharedBy === undefined ? [{ key: platformLabel, operator: "DoesNotExist" }] : [];
  return {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" },
    metadata: { name: policyName(installation, sharedBy), labels },
    spec: {
      podSelector: {
        matchLabels: labels,
        matchExpressions: [{ key: instanceLabel, operator: "Exists" }, ...notOfOthers],
      },
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ from: [pods, ...platformRanges] }],
      egress: [
        { ports: dnsPorts },
        ...[reach(rules.databaseUrl), platform, { to: [pods] }],
        // A rule without addresses would be for all of them.
        ...(platformRanges.length === 0 ? [] : [{ to: platformRanges, ports: platform.ports }]),
        ...everywhereBut(privateRanges, privateRangesOf6).map((block) => ({ to: [block] })),
      ],
    },
  };
}

/** A name of the API takes less than a label does. No installation has a dot in its part. */
function policyName(installation: string, sharedBy: string | undefined): string {
  const fits = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(installation);
  const digest = () => createHash("sha256").update(installation).digest("hex").slice(0, 16);
  const own = `${accountName}-${fits ? installation : digest()}`;
  return sharedBy === undefined ? own : `${own}.${sharedBy}`;
}

export const everywhereBut = (ranges: readonly string[], rangesOf6: readonly string[]) => [
  { ipBlock: { cidr: "0.0.0.0/0", except: [...ranges] } },
  { ipBlock: { cidr: "::/0", except: [...rangesOf6] } },
];

const defaultPorts: Record<string, number> = { "http:": 80, "https:": 443 };

/** A policy knows addresses alone: of a host with a name, the port has to do. */
export function reach(address: string) {
  const url = new URL(address);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const bits = isIP(host) === 4 ? 32 : 128;
  return {
    ports: [{ protocol: "TCP", port: Number(url.port || (defaultPorts[url.protocol] ?? 5432)) }],
    to: isIP(host)
      ? [{ ipBlock: { cidr: `${host}/${bits}` } }]
      : // Some network plugins take blocks of addresses for those outside of the cluster alone.
        [{ namespaceSelector: {} }, ...everywhereBut(metadataRanges, metadataRangesOf6)],
  };
}

function podOf(facts: ObjectFacts) {
  const { spec } = facts;
  const isImage = spec.folder === null;
  const scratch = (name: string, sizeLimit: string) => ({ name, emptyDir: { sizeLimit } });
  const token = { secretName: objectName(spec.instanceId), items: [{ key: secretKey, path: "token" }] };
  return {
    ...{ serviceAccountName: accountName, automountServiceAccountToken: false, enableServiceLinks: false },
    terminationGracePeriodSeconds: facts.graceSeconds + leaveSecondsOf(spec),
    ...(spec.scale.max > 1 ? { topologySpreadConstraints: [spreadOf(spec)] } : {}),
    ...{ tolerations, affinity: { podAntiAffinity: awayFromLost(facts.installation) } },
    securityContext: {
      ...(isImage ? {} : { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 }),
      ...{ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    },
    ...(isImage ? {} : { initContainers: [fetcherOf(facts)] }),
    containers: [serverOf(facts)],
    volumes: [
      ...[scratch("tmp", "1Gi"), scratch("home", "1Gi"), scratch("instance", "1Mi")],
      ...(isImage ? [] : [scratch("project", "8Gi"), { name: "token", secret: token }]),
      ...(hasCertificates(facts)
        ? [{ name: "certificates", secret: { secretName: certificatesName(spec.instanceId) } }]
        : []),
    ],
  };
}

/** A pod that is one too many serves on until every gateway knows; one alone is stopped when it has no requests. */
const leaveSecondsOf = ({ scale }: StartSpec) => (scale.max > 1 ? 5 : 0);

/**
 * How long a pod stays on a node of which the cluster says that it does not report, and on one that reports that it is not well. Without
 * this it would be five minutes. A kubelet that is restarted reports so for some seconds.
 */
export const tolerations = [
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 },
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 15 },
];

export function awayFromLost(installation: string) {
  const labelSelector = { matchLabels: { [installationLabel]: installation, [lostLabel]: "true" } };
  // Without a selector of namespaces it would count in the pod's own alone.
  const term = { labelSelector, namespaceSelector: {}, topologyKey: "kubernetes.io/hostname" };
  return { requiredDuringSchedulingIgnoredDuringExecution: [term] };
}

/** On several nodes where there are some. */
function spreadOf({ instanceId }: StartSpec) {
  return {
    ...{ maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" },
    labelSelector: { matchLabels: { [instanceLabel]: instanceId } },
  };
}

const enclosed = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

/** Brings what was built into the pod. */
function fetcherOf(facts: ObjectFacts) {
  const { baseImage, artifactUrl, certificates = [] } = facts;
  const extra = certificates.filter(({ file }) => file === "NODE_EXTRA_CA_CERTS.pem");
  return {
    ...{ name: fetchContainer, image: baseImage, imagePullPolicy: "IfNotPresent", securityContext: enclosed },
    command: [
      ...["treadle", "artifact", "fetch", artifactUrl, folders.project],
      ...["--token-file", posix.join(folders.token, "token")],
    ],
    env: [
      { name: "HOME", value: "/tmp" },
      ...extra.map(({ to }) => ({ name: "NODE_EXTRA_CA_CERTS", value: to })),
    ],
    // The last words of its log say why it failed.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "512Mi" } },
    volumeMounts: [
      { name: "project", mountPath: folders.project },
      { name: "token", mountPath: folders.token, readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
      ...certificateMounts(facts),
    ],
  };
}

function serverOf(facts: ObjectFacts) {
  const { spec, baseImage, startSeconds } = facts;
  const isImage = spec.folder === null;
  const config = posix.join(folders.project, spec.configPath);
  const readyFile = posix.join(folders.instance, readyFileName);
  const port = spec.port;
  const own = {
    ...{ HOME: folders.home, TMPDIR: "/tmp", TREADLE_HOST: "0.0.0.0", HOST: "0.0.0.0" },
    ...(isImage ? {} : { TREADLE_READY_FILE: readyFile }),
    ...(spec.scale.max > 1 ? { TREADLE_SHUTDOWN_LEAVE_SECONDS: String(leaveSecondsOf(spec)) } : {}),
  };
  // Our own server admits only gateways, even to its health route, so it writes a file when it serves.
  const serves = isImage ? { httpGet: { path: "/ok", port } } : { exec: { command: ["cat", readyFile] } };
  return {
    ...{ name: serverContainer, image: isImage ? spec.image : baseImage, imagePullPolicy: "IfNotPresent" },
    ...(isImage
      ? {}
      : {
          command: ["treadle", "agent", "--json", "--config", config, "--port", String(port)],
          workingDir: posix.dirname(config),
        }),
    ports: [{ name: "http", containerPort: port, protocol: "TCP" }],
    envFrom: [{ secretRef: { name: objectName(spec.instanceId) } }],
    // The last of a name counts.
    env: [
      ...(spec.secretReferences ?? []).map(variableOf),
      ...Object.entries(own).map(([name, value]) => ({ name, value })),
    ],
    startupProbe: { ...serves, periodSeconds: 1, failureThreshold: startSeconds },
    readinessProbe: { tcpSocket: { port }, periodSeconds: 5, failureThreshold: 2 },
    ...{ securityContext: enclosed, resources: resourcesOf(spec.resources) },
    volumeMounts: [
      { name: "tmp", mountPath: "/tmp" },
      { name: "home", mountPath: folders.home },
      { name: "instance", mountPath: folders.instance },
      ...(isImage ? [] : [{ name: "project", mountPath: folders.project, readOnly: true }]),
      ...certificateMounts(facts),
    ],
  };
}

const variableOf = ({ name, secret_name, secret_key }: SecretReference) => ({
  ...{ name, valueFrom: { secretKeyRef: { name: secret_name, key: secret_key } } },
});

/** What is set aside for a pod, never more than its limit; a part of the limit where the specification does not say. */
function resourcesOf({ memoryBytes, cpus, requested }: Resources) {
  const within = (limit: number | null, amount: number) =>
    limit === null ? amount : Math.min(limit, amount);
  const memory = (bytes: number) => String(Math.round(bytes));
  const cpu = (count: number) => `${Math.max(1, Math.round(count * 1000))}m`;
  const askedMemory =
    requested?.memoryBytes ?? (memoryBytes === null ? null : memoryBytes / 8 + 64 * megabyte);
  const askedCpus = requested?.cpus ?? (cpus === null ? 0.05 : cpus / 2);
  return {
    requests: {
      ...(askedMemory === null ? {} : { memory: memory(within(memoryBytes, askedMemory)) }),
      cpu: cpu(within(cpus, askedCpus)),
    },
    limits: {
      ...(memoryBytes === null ? {} : { memory: memory(memoryBytes) }),
      ...(cpus === null ? {} : { cpu: cpu(cpus) }),
    },
  };
}
