import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { rolesServing, routeGroupOf } from "../../src/app/roles.ts";
import { roleNames } from "../../src/config/index.ts";
import { namespaceOfWorkspace } from "../../src/control-plane/runtimes/kubernetes/namespaces.ts";
import { renderChart, type Values } from "../support/kubernetes/helm.ts";

type Container = {
  env: { name: string; value?: string }[];
  securityContext: object;
  livenessProbe: { httpGet: { path: string } };
  readinessProbe: { httpGet: { path: string } };
};
type Pod = {
  serviceAccountName?: string;
  automountServiceAccountToken: boolean;
  hostUsers?: boolean;
  terminationGracePeriodSeconds: number;
  topologySpreadConstraints: object[];
  securityContext: { runAsNonRoot: boolean; seccompProfile: { type: string } };
  containers: Container[];
};
type Rendered = {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: every kind has another one.
  spec: any;
};

const render = (values: Values, namespace?: string) => renderChart<Rendered>(values, namespace);

async function refusalOf(values: Values): Promise<string> {
  return await render(values).then(
    () => "it was not refused",
    (error: Error) => error.message,
  );
}

const whole = {
  ...{ mode: "distributed", existingSecret: "settings" },
  settings: { TREADLE_PUBLIC_URL: "https://treadle.example.com", TREADLE_BLOB_URL: "s3://treadle" },
};
const clusterKinds = ["ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy"];
const byInstallation = { matchLabels: { "treadle.dev/installation": "t" } };
const agentsHere = { podSelector: byInstallation };
const agentsOfWorkspaces = { podSelector: byInstallation, namespaceSelector: byInstallation };
const of = (objects: Rendered[], kind: string) => objects.filter((each) => each.kind === kind);
const roleOf = ({ metadata }: Rendered) => metadata.name.replace(/^t-treadle-/, "");
const podOf = (object: Rendered) => object.spec.template.spec as Pod;
const environmentOf = (object: Rendered) =>
  Object.fromEntries(podOf(object).containers[0]!.env.map(({ name, value }) => [name, value]));

describe("mode distributed", { timeout: 120_000 }, () => {
  it("has a Deployment for each role, told its role and as long to stop as Kubernetes waits", async () => {
    const deployments = of(await render(whole), "Deployment");
    expect(deployments.map(roleOf).sort()).toEqual([...roleNames].sort());
    for (const deployment of deployments) {
      const role = roleOf(deployment);
      const environment = environmentOf(deployment);
      expect(environment).toMatchObject({
        ...{ TREADLE_ROLES: role, TREADLE_RUNTIME: "kubernetes" },
        TREADLE_INTERNAL_URL: "http://t-treadle-api.agents.svc:8124",
      });
      const pod = podOf(deployment);
      const told =
        Number(environment.TREADLE_SHUTDOWN_LEAVE_SECONDS) +
        Number(environment.TREADLE_SHUTDOWN_GRACE_SECONDS);
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(told + 15);
      expect(pod.automountServiceAccountToken).toBe(["builder", "controller"].includes(role));
      expect(pod.topologySpreadConstraints).toHaveLength(2);
      expect(pod.securityContext).toMatchObject({
        ...{ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      const [container] = pod.containers;
      expect(container!.securityContext).toEqual({
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
      });
      expect(container!.livenessProbe.httpGet.path).toBe("/health");
      expect(container!.readinessProbe.httpGet.path).toBe("/ready");
    }
  });

  it("takes pods away from lost nodes soon, or as the values say", async () => {
    const tolerations = async (values: Values) =>
      of(await render({ ...whole, ...values }), "Deployment").map(
        (one) => one.spec.template.spec.tolerations,
      );
    const lost = (key: string, tolerationSeconds: number) => ({
      ...{ key: `node.kubernetes.io/${key}`, operator: "Exists", effect: "NoExecute", tolerationSeconds },
    });
    for (const each of await tolerations({}))
      expect(each).toEqual([lost("not-ready", 15), lost("unreachable", 5)]);
    const own = [{ key: "spot", operator: "Exists" }, lost("unreachable", 90)];
    for (const each of await tolerations({ tolerations: own, lostNode: { notReadySeconds: 1 } }))
      expect(each).toEqual([...own, lost("not-ready", 1)]);
    for (const effect of [{}, { effect: "NoExecute" }]) {
      const any = [{ operator: "Exists", ...effect }];
      for (const each of await tolerations({ tolerations: any })) expect(each).toEqual(any);
    }
    const unscheduled = [{ operator: "Exists", effect: "NoSchedule" }];
    for (const each of await tolerations({ tolerations: unscheduled }))
      expect(each).toEqual([...unscheduled, lost("not-ready", 15), lost("unreachable", 5)]);
  });

  it("leaves the number of pods to an autoscaler, and limits disruptions where there are several", async () => {
    const objects = await render({
      ...whole,
      roles: { worker: { autoscaling: { enabled: true, maxReplicas: 7 } }, export: { replicas: 3 } },
    });
    const worker = of(objects, "Deployment").find((each) => roleOf(each) === "worker")!;
    expect(worker.spec).not.toHaveProperty("replicas");
    const [autoscaler, ...others] = of(objects, "HorizontalPodAutoscaler");
    expect(others).toEqual([]);
    expect(autoscaler!.spec).toMatchObject({
      ...{ scaleTargetRef: { name: "t-treadle-worker" }, minReplicas: 2, maxReplicas: 7 },
    });
    const limited = of(objects, "PodDisruptionBudget").map(roleOf);
    expect(limited.sort()).toEqual(["api", "controller", "export", "gateway", "ingest", "worker"]);
  });

  it("migrates before an installation and an upgrade, with secrets that are there then", async () => {
    const { existingSecret: _, ...rest } = whole;
    const secrets = {
      DATABASE_URL: "postgres://treadle@db.example.com/treadle",
      ...{ TREADLE_API_KEY: "0123456789abcdef", TREADLE_SECRET_KEY: "0123456789abcdef" },
    };
    const objects = await render({ ...rest, secrets });
    const [job] = of(objects, "Job");
    expect(job!.metadata.annotations).toMatchObject({ "helm.sh/hook": "pre-install,pre-upgrade" });
    const [from] = job!.spec.template.spec.containers[0].envFrom;
    const hooked = of(objects, "Secret").find(({ metadata }) => metadata.name === from.secretRef.name);
    expect(hooked!.metadata.annotations).toMatchObject({ "helm.sh/hook": "pre-install,pre-upgrade" });
  });

  it("sends each request to a role that serves it, by Ingress and by HTTPRoute", async () => {
    const objects = await render({
      ...whole,
      ingress: { enabled: true, deploymentHosts: ["*.agents.example.com"] },
      httpRoute: { enabled: true, parentRefs: [{ name: "public" }], deploymentHostnames: ["a.example.com"] },
    });
    const asked = [
      ...["GET /d", "GET /d/x", "POST /d/x/threads", "POST /api/v1/runs", "POST /api/v1/runs/batch"],
      ...["POST /api/v1/runs/multipart", "PATCH /api/v1/runs/1", "POST /api/v1/otel/v1/traces"],
      ...["POST /api/v1/runs/query", "GET /api/v1/runs/1", "GET /", "GET /docs", "GET /deployments"],
    ];
    const [own, deployments] = of(objects, "Ingress")[0]!.spec.rules;
    const [routes, ofDeployments] = of(objects, "HTTPRoute");
    for (const each of asked) {
      const [method, path] = each.split(" ") as [string, string];
      const group = routeGroupOf(method, path) as Parameters<typeof rolesServing>[0];
      const byIngress = roleOf({ metadata: chooseByIngress(own.http.paths, path) } as Rendered);
      const byRoute = roleOf({ metadata: chooseByRoute(routes!.spec.rules, method, path) } as Rendered);
      const served = { method, path, byIngress: true, byRoute: true };
      const serves = (role: string) => (rolesServing(group) as string[]).includes(role);
      expect({ method, path, byIngress: serves(byIngress), byRoute: serves(byRoute) }).toEqual(served);
      if (group === "ingest") expect({ path, byRoute }).toEqual({ path, byRoute: "ingest" });
    }
    expect(deployments.http.paths[0].backend.service.name).toBe("t-treadle-gateway");
    expect(ofDeployments!.spec.rules[0].backendRefs[0].name).toBe("t-treadle-gateway");
  });

  it("builds in Jobs, for which the builder has a token; or in the builder, which then has none", async () => {
    const withToken = async (settings: object) =>
      of(await render({ ...whole, settings: { ...whole.settings, ...settings } }), "Deployment")
        .filter((each) => podOf(each).automountServiceAccountToken)
        .map(roleOf)
        .sort();
    expect(await withToken({})).toEqual(["builder", "controller"]);
    expect(await withToken({ TREADLE_BUILDS: "here" })).toEqual(["controller"]);
  });

  it("lets builds have a sandbox where they are in the builder, and nothing else", async () => {
    const settings = { ...whole.settings, TREADLE_BUILDS: "here" };
    const deployments = of(await render({ ...whole, settings, sandbox: { enabled: true } }), "Deployment");
    const open = deployments.filter((each) => podOf(each).hostUsers === false);
    expect(open.map(roleOf)).toEqual(["builder"]);
    expect(podOf(open[0]!).securityContext.seccompProfile.type).toBe("Unconfined");
    expect(environmentOf(open[0]!)).toMatchObject({ TREADLE_ISOLATION: "required" });
  });

  it("asks for rights in the whole cluster only where each workspace has a namespace, and limits them", async () => {
    const plain = await render(whole);
    for (const kind of clusterKinds) expect(of(plain, kind)).toEqual([]);
    const settings = { ...whole.settings, TREADLE_KUBERNETES_NAMESPACE_PER: "workspace" };
    const objects = await render({ ...whole, settings, networkPolicy: { from: [{ podSelector: {} }] } });
    const manifest = JSON.parse(
      await readFile(new URL("../../deploy/kubernetes-cluster-role.json", import.meta.url), "utf8"),
    ) as { items: (Rendered & { rules?: object })[] };
    const theirs = (kind: string) => manifest.items.find((each) => each.kind === kind)!;
    expect(of(objects, "ClusterRole")).toMatchObject([
      { metadata: { name: "agents-t-treadle-cluster" }, rules: theirs("ClusterRole").rules },
    ]);
    const [policy] = of(objects, "ValidatingAdmissionPolicy");
    const told = JSON.stringify(policy!.spec)
      .replaceAll("serviceaccount:agents:t-treadle-cluster", "serviceaccount:treadle:treadle")
      .replaceAll("== 'agents'", "== 'treadle'")
      .replaceAll("startsWith('agents-')", "startsWith('treadle-')")
      .replaceAll("installation'] == 't'", "installation'] == 'treadle'");
    expect(JSON.parse(told)).toEqual(theirs("ValidatingAdmissionPolicy").spec);
    const [binding] = of(objects, "ValidatingAdmissionPolicyBinding");
    expect(binding!.spec).toEqual({ policyName: "agents-t-treadle-cluster", validationActions: ["Deny"] });
    const [api] = of(objects, "NetworkPolicy").filter((each) => roleOf(each) === "api");
    // Servers that were started before the setting are still in the namespace of the release.
    expect(api!.spec.ingress[0].from).toEqual(expect.arrayContaining([agentsHere, agentsOfWorkspaces]));
  });

  it("keeps these rights on the way back, if it is told to, and says nothing of them otherwise", async () => {
    const networkPolicy = { from: [{ podSelector: {} }] };
    const peersOf = (objects: Rendered[]) =>
      of(objects, "NetworkPolicy").find((each) => roleOf(each) === "api")!.spec.ingress[0].from;
    const kept = await render({ ...whole, networkPolicy, workspaceNamespaces: { keepRights: true } });
    for (const kind of clusterKinds) expect(of(kept, kind)).toHaveLength(1);
    expect(peersOf(kept)).toEqual(expect.arrayContaining([agentsHere, agentsOfWorkspaces]));
    // An upgrade that keeps the values of an earlier chart has no such value.
    const plain = await render({ ...whole, networkPolicy, workspaceNamespaces: null });
    for (const kind of clusterKinds) expect(of(plain, kind)).toEqual([]);
    expect(peersOf(plain)).toContainEqual(agentsHere);
    expect(peersOf(plain)).not.toContainEqual(agentsOfWorkspaces);
    const single = await render({ workspaceNamespaces: { keepRights: true } });
    for (const kind of clusterKinds) expect(of(single, kind)).toEqual([]);
  });

  it.each(["a", "p".repeat(26), `${"p".repeat(16)}-${"q".repeat(20)}`, "p".repeat(63)])(
    "lets a platform in the namespace %s make those of its workspaces, and no others",
    async (namespace) => {
      const settings = { ...whole.settings, TREADLE_KUBERNETES_NAMESPACE_PER: "workspace" };
      const [policy] = of(await render({ ...whole, settings }, namespace), "ValidatingAdmissionPolicy");
      const [, prefix] = /startsWith\('([^']+)'\)/.exec(JSON.stringify(policy!.spec.validations))!;
      const id = randomUUID();
      expect(namespaceOfWorkspace(namespace, id)).toBe(`${prefix}${id}`);
    },
  );

  it("names everything that is missing in one message", async () => {
    const refusal = await refusalOf({ mode: "distributed", service: { type: "LoadBalancer" } });
    for (const name of [
      ...["settings.TREADLE_PUBLIC_URL", "settings.TREADLE_BLOB_URL", "secrets.DATABASE_URL"],
      ...["secrets.TREADLE_API_KEY", "secrets.TREADLE_SECRET_KEY", "service.type"],
    ])
      expect(refusal).toMatch(new RegExp(`^  ${name}: .{10,}$`, "m"));
  });

  it.each([
    [{ mode: "distibuted" }, "/mode"],
    [{ ...whole, roles: { web: {} } }, "'web' not allowed"],
    [{ ...whole, roles: { api: { replicas: "two" } } }, "/roles/api/replicas"],
    [
      { ...whole, settings: { ...whole.settings, DATABASE_URL: "postgres://a" } },
      "settings.DATABASE_URL: it is a secret",
    ],
    [
      { ...whole, roles: { api: { settings: { TREADLE_TRACES_URL: "https://a:b@c/d" } } } },
      "roles.api.settings.TREADLE_TRACES_URL: it is a secret",
    ],
    [
      { ...whole, roles: { api: { settings: { TREADLE_PORT: 1 } } } },
      "roles.api.settings.TREADLE_PORT: the chart",
    ],
    [{ ...whole, settings: { ...whole.settings, TREADLE_RUNTIME: "docker" } }, "settings.TREADLE_RUNTIME"],
    [{ ...whole, settings: { ...whole.settings, TREADLE_BLOB_URL: "file:///a" } }, "pods share no folder"],
    [{ ...whole, httpRoute: { enabled: true } }, "httpRoute.parentRefs"],
    [{ ...whole, secrets: { A: "b" } }, "secrets, existingSecret"],
  ])("refuses %j and names %s", async (values, name) => {
    expect(await refusalOf(values)).toContain(name);
  });
});

it("mode single is one pod without the cluster's credentials", async () => {
  const objects = await render({});
  expect(objects.map(({ kind }) => kind).sort()).toEqual(["Service", "StatefulSet"]);
  const pod = podOf(of(objects, "StatefulSet")[0]!);
  expect(pod.automountServiceAccountToken).toBe(false);
});

type IngressPath = { path: string; pathType: string; backend: { service: { name: string } } };

function chooseByIngress(paths: IngressPath[], asked: string): { name: string } {
  const [best] = paths
    .filter(
      ({ path, pathType }) =>
        path === asked || (pathType === "Prefix" && asked.startsWith(path === "/" ? path : `${path}/`)),
    )
    .sort((a, b) => b.path.length - a.path.length);
  return best!.backend.service;
}

type RouteRule = {
  matches?: { method?: string; path: { type: string; value: string } }[];
  backendRefs: { name: string }[];
};

/** The longest path wins; no match at all fits every path. */
function chooseByRoute(rules: RouteRule[], method: string, asked: string): { name: string } {
  const fits = rules.flatMap(({ matches = [{ path: { type: "PathPrefix", value: "/" } }], backendRefs }) =>
    matches
      .filter((match) => match.method === undefined || match.method === method)
      .filter(
        ({ path: { type, value } }) =>
          value === asked || (type === "PathPrefix" && asked.startsWith(value === "/" ? value : `${value}/`)),
      )
      .map(({ path }) => ({ length: path.value.length, backend: backendRefs[0]! })),
  );
  return fits.sort((a, b) => b.length - a.length)[0]!.backend;
}
