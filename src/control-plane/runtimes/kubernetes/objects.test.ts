import { describe, expect, it } from "vitest";
import { oneReplica, type Resources, type StartSpec } from "../runtime.ts";
import {
  describeDeployment,
  describeNetworkPolicy,
  installationLabel,
  type NetworkRules,
  type ObjectFacts,
} from "./objects.ts";

const policy = (rules: Partial<NetworkRules> = {}, installation = "treadle") =>
  describeNetworkPolicy(installation, {
    platformRanges: [],
    databaseUrl: "postgres://10.0.0.5/treadle",
    platformUrl: "http://10.0.0.6:8124",
    ...rules,
  });
const tcp = (port: number) => [{ protocol: "TCP", port }];

describe("the network policy of deployed servers", () => {
  it("opens an address on its port alone", () => {
    const { egress } = policy().spec;
    expect(egress).toContainEqual({ to: [{ ipBlock: { cidr: "10.0.0.5/32" } }], ports: tcp(5432) });
    expect(egress).toContainEqual({ to: [{ ipBlock: { cidr: "10.0.0.6/32" } }], ports: tcp(8124) });
    expect(policy({ platformUrl: "http://10.0.0.6" }).spec.egress).toContainEqual({
      ...{ to: [{ ipBlock: { cidr: "10.0.0.6/32" } }], ports: tcp(80) },
    });
  });

  it("opens the platform's ranges to servers on the platform's port alone", () => {
    const range = { ipBlock: { cidr: "10.9.0.0/24" } };
    const { egress, ingress } = policy({ platformRanges: ["10.9.0.0/24"] }).spec;
    const rules = egress.filter((rule) => JSON.stringify(rule).includes("10.9.0.0/24"));
    expect(rules).toEqual([{ to: [range], ports: tcp(8124) }]);
    expect(ingress[0]!.from).toContainEqual(range);
  });

  it("lets nobody reach cloud metadata, also not where a host has a name", () => {
    const { egress } = policy({ databaseUrl: "postgres://db/x", platformUrl: "https://platform" }).spec;
    const ports = egress.flatMap((rule) => ("ports" in rule ? [rule.ports] : []));
    expect(ports).toEqual(expect.arrayContaining([tcp(5432), tcp(443)]));
    // Without a `to` a rule is for every address: names are looked up anywhere.
    expect(egress.filter((rule) => !("to" in rule))).toHaveLength(1);
    const blocks = JSON.stringify(egress).match(/\{"cidr":"0\.0\.0\.0\/0"[^}]*\}/g)!;
    expect(blocks).toHaveLength(3);
    for (const block of blocks) {
      expect(block).toContain("169.254.0.0/16");
      expect(block).toContain("168.63.129.16/32");
    }
  });

  it("is one for each installation, whose name a cluster takes", () => {
    const names = ["treadle", "Treadle", "a_b", "a.b"].map((name) => policy({}, name).metadata.name);
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    expect(names[0]).toBe("treadle-agent-treadle");
    expect(policy({}, "a_b").spec.podSelector.matchLabels).toEqual({ [installationLabel]: "a_b" });
  });
});

describe("the objects of one server", () => {
  const given = (more: Partial<StartSpec> = {}): ObjectFacts => ({
    ...{ installation: "i", baseImage: "image", artifactUrl: "http://10.0.0.6/a" },
    ...{ graceSeconds: 75, startSeconds: 60 },
    spec: {
      ...{ instanceId: "in", deploymentId: "de", revisionId: "re", workspaceId: "wo", port: 8000 },
      ...{ folder: "/built", configPath: "langgraph.json", image: null, pinned: null, environment: {} },
      ...{ instanceFolder: "/i", home: "/h", logPath: "/l", scale: oneReplica },
      resources: { memoryBytes: null, cpus: null },
      ...more,
    },
  });
  const podOf = (more: Partial<StartSpec> = {}) => describeDeployment(given(more)).spec.template.spec;
  const amounts = (resources: Resources) => podOf({ resources }).containers[0]!.resources;
  const megabyte = 1024 * 1024;

  it("are labelled by all that they belong to", () => {
    expect(describeDeployment(given()).metadata.labels).toEqual({
      "app.kubernetes.io/managed-by": "treadle",
      "treadle.dev/installation": "i",
      "treadle.dev/workspace": "wo",
      "treadle.dev/deployment": "de",
      "treadle.dev/revision": "re",
      "treadle.dev/instance": "in",
    });
  });

  it("set aside what is requested, and never more than the limit", () => {
    const requested = { memoryBytes: 256 * megabyte, cpus: 0.5 };
    expect(amounts({ memoryBytes: 512 * megabyte, cpus: 1, requested })).toEqual({
      requests: { memory: String(256 * megabyte), cpu: "500m" },
      limits: { memory: String(512 * megabyte), cpu: "1000m" },
    });
    expect(amounts({ memoryBytes: 128 * megabyte, cpus: 0.2, requested })).toEqual({
      requests: { memory: String(128 * megabyte), cpu: "200m" },
      limits: { memory: String(128 * megabyte), cpu: "200m" },
    });
    expect(amounts({ memoryBytes: null, cpus: null, requested: { memoryBytes: null, cpus: null } })).toEqual({
      ...{ requests: { cpu: "50m" }, limits: {} },
    });
  });

  it("take variables from Secrets of the cluster in the server alone, and never over the platform's own", () => {
    const reference = (name: string) => ({ name, secret_name: "keys", secret_key: "openai" });
    const pod = podOf({ secretReferences: [reference("OPENAI_API_KEY"), reference("HOST")] });
    const { env } = pod.containers[0]!;
    const valueFrom = { secretKeyRef: { name: "keys", key: "openai" } };
    expect(env[0]).toEqual({ name: "OPENAI_API_KEY", valueFrom });
    expect(env.findLast(({ name }) => name === "HOST")).toEqual({ name: "HOST", value: "0.0.0.0" });
    expect(JSON.stringify(pod.initContainers)).not.toContain("secretKeyRef");
  });

  it("spread replicas over nodes, and let those that leave serve until gateways know", () => {
    const alone = podOf();
    const several = podOf({ scale: { min: 1, max: 3, by: "treadle" } });
    const names = (pod: typeof alone) => pod.containers[0]!.env.map(({ name }) => name);
    expect(alone).not.toHaveProperty("topologySpreadConstraints");
    expect(several.topologySpreadConstraints).toMatchObject([{ whenUnsatisfiable: "ScheduleAnyway" }]);
    expect(names(alone)).not.toContain("TREADLE_SHUTDOWN_LEAVE_SECONDS");
    expect(names(several)).toContain("TREADLE_SHUTDOWN_LEAVE_SECONDS");
    expect(several.terminationGracePeriodSeconds - alone.terminationGracePeriodSeconds).toBe(5);
  });

  it("leave a lost node soon, and are not put beside a pod of any namespace that was lost there", () => {
    const { tolerations, affinity } = podOf();
    expect(tolerations.map(({ key, tolerationSeconds }) => [key, tolerationSeconds])).toEqual([
      ["node.kubernetes.io/unreachable", 5],
      ["node.kubernetes.io/not-ready", 15],
    ]);
    expect(affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution).toEqual([
      {
        labelSelector: { matchLabels: { "treadle.dev/installation": "i", "treadle.dev/lost": "true" } },
        namespaceSelector: {},
        topologyKey: "kubernetes.io/hostname",
      },
    ]);
  });
});
