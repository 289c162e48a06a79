import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  type BuildFacts,
  describeBuildJob,
  describeBuildPolicy,
  describeBuildSecret,
} from "./build-objects.ts";

const facts: BuildFacts = {
  order: { id: "b-1", revisionId: "r-1", deploymentId: "d-1", workspaceId: "w-1", timeoutMs: 900_000 },
  ...{ installation: "treadle", image: "treadle:1", platformUrl: "http://10.1.2.3:8124" },
  ...{ memoryBytes: 1024 ** 3, cpus: 2, maxBytes: 2 * 1024 ** 3 },
};

describe("the Job of a build", () => {
  const { spec, metadata } = describeBuildJob(facts);
  const [container] = spec.template.spec.containers;

  it("is tried once, ends with the time of the build, and goes by itself", () => {
    expect(spec).toMatchObject({
      backoffLimit: 0,
      activeDeadlineSeconds: 900,
      ttlSecondsAfterFinished: 3_600,
    });
    expect(spec.template.spec.restartPolicy).toBe("Never");
    expect(metadata.labels).toMatchObject({ "treadle.dev/deployment": "d-1", "treadle.dev/build": "b-1" });
  });

  it("has no rights: no token of the cluster, no root, no capability, a read-only root", () => {
    expect(spec.template.spec).toMatchObject({
      ...{ automountServiceAccountToken: false, enableServiceLinks: false },
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(container!.securityContext).toEqual({
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    });
    expect(container!.resources).toEqual({
      requests: { cpu: "500m", memory: String(256 * 1024 ** 2) },
      limits: { cpu: "2000m", memory: String(1024 ** 3) },
    });
  });

  it("names its token nowhere but in the Secret, which it owns", () => {
    const owner = { kind: "Job", name: metadata.name, uid: "u-1" };
    const secret = describeBuildSecret(facts, { token: "the token", environment: { TZ: "UTC" } }, owner);
    expect(JSON.stringify(spec)).not.toContain("the token");
    expect(secret.metadata.ownerReferences).toEqual([owner]);
    expect(Buffer.from(secret.data.token!, "base64").toString()).toBe("the token");
  });
});

describe("the network of builds", () => {
  const { spec } = describeBuildPolicy("treadle", {
    ...{ platformUrl: "http://10.1.2.3:8124", platformRanges: ["10.9.0.0/16"] },
  });

  it("lets nobody in", () => {
    expect(spec).toMatchObject({ policyTypes: ["Ingress", "Egress"], ingress: [] });
    expect(spec.podSelector.matchExpressions).toEqual([{ key: "treadle.dev/build", operator: "Exists" }]);
  });

  it("lets out to DNS, to the platform's port and to the internet, and to no port of PostgreSQL", () => {
    const [dns, platform, platformPods, ...internet] = spec.egress;
    expect(dns).toEqual({
      ports: [
        { protocol: "UDP", port: 53 },
        { protocol: "TCP", port: 53 },
      ],
    });
    const ports = [{ protocol: "TCP", port: 8124 }];
    expect(platform).toEqual({ ports, to: [{ ipBlock: { cidr: "10.1.2.3/32" } }] });
    expect(platformPods).toMatchObject({ ports });
    expect(JSON.stringify(spec.egress)).not.toContain("5432");
    for (const { to } of internet as { to: { ipBlock: { except: string[] } }[] }[])
      expect(to[0]!.ipBlock.except.length).toBeGreaterThan(1);
  });
});

it("the role of the platform may make, see and remove Jobs, and no more", () => {
  const manifest = JSON.parse(
    readFileSync(new URL("../../../../deploy/kubernetes-role.json", import.meta.url), "utf8"),
  ) as { items: { kind: string; rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[] }[] };
  const { rules = [] } = manifest.items.find(({ kind }) => kind === "Role")!;
  expect(rules.filter(({ apiGroups }) => apiGroups.includes("batch"))).toEqual([
    { apiGroups: ["batch"], resources: ["jobs"], verbs: ["create", "get", "list", "watch", "delete"] },
  ]);
  expect(rules.filter(({ resources }) => resources.includes("secrets"))).toEqual([
    expect.objectContaining({ verbs: ["create", "patch"] }),
  ]);
});
