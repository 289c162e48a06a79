import { describe, expect, test } from "vitest";
import { readConfig } from "./index.ts";
import { buildsBesideCluster, requireKubernetesSettings } from "./kubernetes.ts";

const whole = {
  TREADLE_RUNTIME: "kubernetes",
  TREADLE_KUBERNETES_IMAGE: "registry.example.com/treadle:0.1.0",
  DATABASE_URL: "postgres://treadle@db.example.com/treadle",
  TREADLE_INTERNAL_URL: "http://treadle.treadle.svc:8124",
  KUBECONFIG: "/etc/treadle/cluster.json",
};
const start = (environment: Record<string, string>) => requireKubernetesSettings(readConfig(environment));

function refusalOf(environment: Record<string, string>): string {
  try {
    start(environment);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("It was not refused.");
}

test("other runtimes need none of it", () => {
  expect(() => start({})).not.toThrow();
  expect(() => start({ TREADLE_RUNTIME: "docker" })).not.toThrow();
});

test("builds are Jobs where deployments are pods, and only there", () => {
  const areJobs = (environment: Record<string, string>) => readConfig(environment).deployments.buildsAreJobs;
  expect([areJobs(whole), areJobs({ ...whole, TREADLE_BUILDS: "here" }), areJobs({})]).toEqual([
    true,
    false,
    false,
  ]);
  expect(refusalOf({ TREADLE_BUILDS: "jobs" })).toBe("TREADLE_BUILDS=jobs needs TREADLE_RUNTIME=kubernetes.");
});

describe("a start with TREADLE_RUNTIME=kubernetes", () => {
  test("works with what pods need, and in a pod without KUBECONFIG", () => {
    expect(() => start(whole)).not.toThrow();
    expect(() => start({ ...whole, KUBECONFIG: "", KUBERNETES_SERVICE_HOST: "10.0.0.1" })).not.toThrow();
  });

  test("needs the cluster only for the role that asks it", () => {
    const outside = { ...whole, KUBECONFIG: "" };
    expect(() => start({ ...outside, TREADLE_ROLES: "api,gateway" })).not.toThrow();
    const builder = { ...outside, TREADLE_ROLES: "api,gateway,builder" };
    expect(() => start({ ...builder, TREADLE_BUILDS: "here" })).not.toThrow();
    expect(refusalOf(builder)).toContain("KUBECONFIG: ");
    expect(refusalOf({ ...outside, TREADLE_ROLES: "gateway,controller" })).toContain("KUBECONFIG: ");
  });

  test.each([
    ["all", true],
    ["controller,builder", true],
    ["controller", false],
    ["api,builder", false],
  ])("with the roles %s builds are beside the cluster's credentials: %s", (roles, expected) => {
    const builds = { TREADLE_ROLES: roles, TREADLE_BUILDS: "here" };
    expect(buildsBesideCluster(readConfig({ ...whole, ...builds }))).toBe(expected);
    expect(buildsBesideCluster(readConfig({ ...whole, TREADLE_ROLES: roles }))).toBe(false);
    expect(buildsBesideCluster(readConfig({ TREADLE_ROLES: roles }))).toBe(false);
  });

  test("names everything that is missing in one message", () => {
    const refusal = refusalOf({ TREADLE_RUNTIME: "kubernetes" });
    for (const name of Object.keys(whole).filter((name) => name !== "TREADLE_RUNTIME"))
      expect(refusal).toMatch(new RegExp(`^  ${name}: .{20,}$`, "m"));
  });

  test.each([
    ["TREADLE_KUBERNETES_IMAGE", ""],
    ["DATABASE_URL", ""],
    ["DATABASE_URL", "postgres://treadle@127.0.0.1:5432/treadle"],
    ["DATABASE_URL", "postgres:///treadle?host=/run/postgresql"],
    ["TREADLE_INTERNAL_URL", ""],
    ["TREADLE_INTERNAL_URL", "http://localhost:8124"],
    ["KUBECONFIG", ""],
  ])("is refused with %s=%s, and names only that", (name, value) => {
    const named = [...refusalOf({ ...whole, [name]: value }).matchAll(/^ {2}([A-Z_]+): /gm)].map(
      ([, found]) => found,
    );
    expect(named).toEqual([name]);
  });

  test.each([
    ["TREADLE_KUBERNETES_NAMESPACE", "Agents"],
    ["TREADLE_KUBERNETES_INSTALLATION", "-a"],
    ["TREADLE_KUBERNETES_PLATFORM_RANGES", "10.0.0.1"],
  ])("says what %s must be", (name, value) => {
    expect(() => readConfig({ ...whole, [name]: value })).toThrow(`${name}: must be`);
  });
});

test("limits of workspaces need a namespace for each", () => {
  const limits = {
    ...{ TREADLE_KUBERNETES_WORKSPACE_MEMORY_MB: "2048", TREADLE_KUBERNETES_WORKSPACE_CPUS: "1.5" },
  };
  const each = { ...whole, TREADLE_KUBERNETES_NAMESPACE_PER: "workspace" };
  expect(readConfig({ ...each, ...limits }).deployments.kubernetes.workspaceQuota).toEqual({
    ...{ memoryBytes: 2 * 1024 ** 3, cpus: 1.5, pods: null },
  });
  expect(() => start({ ...each, ...limits })).not.toThrow();
  for (const given of [limits, { TREADLE_KUBERNETES_WORKSPACE_PODS: "3" }])
    expect(refusalOf({ ...whole, ...given })).toContain("TREADLE_KUBERNETES_NAMESPACE_PER=workspace");
});

test("namespaces are named for a listener, or made for each workspace, not both", () => {
  const named = { ...whole, TREADLE_KUBERNETES_NAMESPACES: "team-a, team-b" };
  expect(readConfig(named).deployments.kubernetes.otherNamespaces).toEqual(["team-a", "team-b"]);
  expect(() => start(named)).not.toThrow();
  expect(refusalOf({ ...named, TREADLE_KUBERNETES_NAMESPACE_PER: "workspace" })).toContain(
    "Leave one of them out",
  );
  expect(() => readConfig({ ...named, TREADLE_KUBERNETES_NAMESPACES: "Team_A" })).toThrow(
    /TREADLE_KUBERNETES_NAMESPACES/,
  );
});
