import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { type Asked, openApiServer, sendJson } from "../../../../tests/support/kubernetes/api-server.ts";
import { createLogger } from "../../../platform/logger.ts";
import { KubernetesRuntime } from "./kubernetes-runtime.ts";
import { describeNamespace, KubernetesNamespaces, namespaceOfWorkspace } from "./namespaces.ts";
import { describeNetworkPolicy, objectName } from "./objects.ts";

const { server, api } = await openApiServer();

const logger = createLogger({ level: "silent" });
const workspace = randomUUID();
const ours = { namespace: "agents", installation: "treadle" };
const place = () => new KubernetesNamespaces({ ...ours, api, namespacePer: "workspace", logger });
const made = (labels?: object, name = namespaceOfWorkspace("agents", workspace)) => {
  const described = describeNamespace(ours, workspace);
  return { metadata: { ...described.metadata, name, uid: "u-1", ...(labels ? { labels } : {}) } };
};
const listOf = (items: object[]) => ({ metadata: { resourceVersion: "1" }, items });
const refusal = (reason: string, code: number) => ({
  kind: "Status",
  reason,
  code,
  message: `it is ${reason}`,
});
const namespacesPath = "/api/v1/namespaces";
const isList = ({ method, path }: Asked) => method === "GET" && /\/(deployments|pods|jobs)$/.test(path);

describe("the namespace of a workspace", () => {
  it("has a name that a cluster takes, and no two workspaces or platforms have the same", () => {
    const platforms = ["a", "treadle", `${"p".repeat(25)}-x`, `${"p".repeat(25)}-y`, "p".repeat(63)];
    const workspaces = [workspace, randomUUID()];
    const names = platforms.flatMap((platform) =>
      workspaces.map((each) => namespaceOfWorkspace(platform, each)),
    );
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
    expect(names[0]).toBe(`a-${workspace}`);
  });

  it("is made once, with labels, and prepared once for each that is made", async () => {
    let exists: object | null = null;
    server.answer((asked, response) => {
      if (isList(asked)) return sendJson(response, listOf([]));
      if (asked.method === "POST")
        exists = { metadata: { ...(asked.body as { metadata: object }).metadata, uid: "u-1" } };
      if (isList(asked)) sendJson(response, listOf([]));
      else sendJson(response, exists ?? refusal("NotFound", 404), exists ? 200 : 404);
    });
    const namespaces = place();
    const prepared: string[] = [];
    const prepare = async (name: string) => void prepared.push(name);
    const name = `agents-${workspace}`;
    expect(await namespaces.ready(workspace, prepare)).toBe(name);
    expect(await namespaces.ready(workspace, prepare)).toBe(name);
    expect(prepared).toEqual([name]);
    const posts = server.asked.filter(({ method }) => method !== "GET");
    expect(posts.map(({ path }) => path)).toEqual([namespacesPath]);
    expect(posts[0]!.body).toMatchObject({
      metadata: {
        name,
        labels: {
          "treadle.dev/installation": "treadle",
          "treadle.dev/platform-namespace": "agents",
          "treadle.dev/workspace": workspace,
          "pod-security.kubernetes.io/enforce": "restricted",
        },
      },
    });
    // Somebody removed it, and another one is there.
    exists = { metadata: { ...made().metadata, uid: "u-2" } };
    await namespaces.ready(workspace, prepare);
    expect(prepared).toEqual([name, name]);
  });

  it.each([
    ["no labels", {}],
    [
      "the labels of another installation",
      { ...made().metadata.labels, "treadle.dev/installation": "other" },
    ],
    [
      "the labels of another platform",
      { ...made().metadata.labels, "treadle.dev/platform-namespace": "elsewhere" },
    ],
    ["another workspace", { ...made().metadata.labels, "treadle.dev/workspace": randomUUID() }],
  ])("is not used with %s: nothing is made in it or changed", async (_what, labels) => {
    server.answer((asked, response) =>
      sendJson(response, isList(asked) ? listOf([]) : made(labels as object)),
    );
    const prepare = async () => expect.unreachable();
    const refused = place().ready(workspace, prepare);
    await expect(refused).rejects.toMatchObject({
      ...{ code: "runtime.kubernetes_refused", retryable: false },
      message: expect.stringMatching(/did not make it.*Nothing is put there/),
    });
    expect(server.asked.every(({ method }) => method === "GET")).toBe(true);
  });

  it("is waited for while the one before is being removed", async () => {
    server.answer((asked, response) =>
      sendJson(response, isList(asked) ? listOf([]) : { ...made(), status: { phase: "Terminating" } }),
    );
    await expect(place().ready(workspace, async () => {})).rejects.toMatchObject({ retryable: true });
  });

  it.each([
    ["seeing pods", isList],
    ["reading namespaces", ({ method, path }: Asked) => method === "GET" && path.startsWith(namespacesPath)],
    ["making namespaces", ({ method }: Asked) => method === "POST"],
  ])("names the rights that are missing: %s", async (_what, isForbidden) => {
    server.answer((asked, response) => {
      if (isForbidden(asked)) return sendJson(response, refusal("Forbidden", 403), 403);
      if (isList(asked)) return sendJson(response, listOf([]));
      sendJson(response, refusal("NotFound", 404), 404);
    });
    await expect(place().ready(workspace, async () => {})).rejects.toMatchObject({
      retryable: false,
      message: expect.stringMatching(/it is Forbidden.*deploy\/kubernetes-cluster-role\.json.*chart/),
    });
  });

  it("lets the platform's pods in from the platform's namespace", () => {
    const rules = {
      platformRanges: [],
      databaseUrl: "postgres://10.0.0.5/x",
      platformUrl: "http://10.0.0.6",
    };
    const peers = describeNetworkPolicy("treadle", { ...rules, platformNamespace: "agents" }).spec.ingress;
    expect(peers[0]!.from).toEqual([
      {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "agents" } },
        podSelector: { matchLabels: { "app.kubernetes.io/name": "treadle" } },
      },
    ]);
  });
});

describe("namespaces of workspaces that are gone", () => {
  const alive = randomUUID();
  const busy = randomUUID();
  const of = (id: string) => {
    const { metadata } = describeNamespace(ours, id);
    return { metadata: { ...metadata, uid: `uid-${id}` } };
  };

  it("go when nothing runs in them, and no other namespace goes", async () => {
    const squatter = { metadata: { ...of(randomUUID()).metadata, name: "kube-system" } };
    server.answer((asked, response) => {
      if (asked.path === namespacesPath)
        return sendJson(response, listOf([squatter, of(alive), of(busy), of(workspace)]));
      const runs = asked.path.includes(busy) && asked.path.endsWith("/pods");
      sendJson(response, asked.method === "DELETE" ? {} : listOf(runs ? [{ metadata: {} }] : []));
    });
    await place().removeUnused(async (id) => id !== alive);
    const removed = server.asked.filter(({ method }) => method === "DELETE");
    expect(removed.map(({ path }) => path)).toEqual([`${namespacesPath}/agents-${workspace}`]);
    expect(removed[0]!.body).toMatchObject({ preconditions: { uid: `uid-${workspace}` } });
  });

  it("are not even looked for where all workspaces share one", async () => {
    server.answer((_asked, response) => sendJson(response, {}, 500));
    const shared = new KubernetesNamespaces({ ...ours, api, namespacePer: "platform", logger });
    await shared.removeUnused(async () => true);
    expect(server.asked).toEqual([]);
  });
});

describe("a namespace that a deployment of a listener asks for", () => {
  const listener = () =>
    new KubernetesNamespaces({ ...ours, api, logger, otherNamespaces: ["team-a", "team-b"] });

  it("is used where the listener lists it, and is neither made nor asked for otherwise", async () => {
    server.answer((_asked, response) => sendJson(response, {}, 500));
    const prepared: string[] = [];
    const prepare = async (name: string) => void prepared.push(name);
    const namespaces = listener();
    expect(await namespaces.ready(workspace, prepare, "team-a")).toBe("team-a");
    expect(await namespaces.ready(workspace, prepare)).toBe("agents");
    expect(await namespaces.ready(workspace, prepare, "team-a")).toBe("team-a");
    expect(await namespaces.ready(workspace, prepare)).toBe("agents");
    await expect(listener().ready(workspace, prepare, "kube-system")).rejects.toMatchObject({
      code: "runtime.namespace_refused",
      message: expect.stringContaining("TREADLE_KUBERNETES_NAMESPACES"),
    });
    // What is asked for may have been made again, and nobody here would know.
    expect(prepared).toEqual(["team-a", "agents", "team-a"]);
    expect(server.asked).toEqual([]);
  });

  it("without rights names what to apply, and does not hide what is in the others", async () => {
    server.answer((asked, response) => {
      const isForbidden = asked.path.includes("/team-a/");
      const found = listOf([{ metadata: { name: asked.path } }]);
      sendJson(response, isForbidden ? refusal("Forbidden", 403) : found, isForbidden ? 403 : 200);
    });
    const ask = async (name: string) => void (await api.list(`/api/v1/namespaces/${name}/pods`, ""));
    await expect(listener().ready(workspace, ask, "team-a")).rejects.toThrow(
      /kubectl --namespace team-a apply -f deploy\/kubernetes-role\.json/,
    );
    const found = await listener().list(({ core }) => `${core}/pods`, "x");
    expect(found.map(({ metadata }) => metadata.name)).toEqual([
      ...["/api/v1/namespaces/agents/pods", "/api/v1/namespaces/team-b/pods"],
    ]);
  });
});

describe("servers in namespaces of workspaces", { timeout: 20_000 }, () => {
  const instance = randomUUID();
  const home = `agents-${workspace}`;
  const labels = {
    ...{ "treadle.dev/installation": "treadle", "treadle.dev/instance": instance },
    "treadle.dev/deployment": randomUUID(),
  };
  const deployment = (namespace: string, uid: string) => ({
    metadata: { name: objectName(instance), namespace, uid, resourceVersion: "1", generation: 1, labels },
    spec: { replicas: 1 },
  });
  const pod = (namespace: string, podIP: string) => ({
    metadata: { name: `pod-${namespace}`, namespace, uid: podIP, resourceVersion: "1", labels },
    status: { podIP, conditions: [{ type: "Ready", status: "True" }] },
  });
  const runtime = () =>
    new KubernetesRuntime({
      ...{ ...ours, api, namespacePer: "workspace", baseImage: "image", folder: "/tmp", logger },
      ...{ graceSeconds: 1, startSeconds: 1, walls: null },
      ...{ platformUrl: () => "http://10.0.0.1", platformRanges: [], databaseUrl: "postgres://10.0.0.1/x" },
    });
  const handle = {
    ...{ name: objectName(instance), namespace: home, uid: "own", generation: 1, instance },
    ...{ port: 8000, memory_bytes: null, log_path: "" },
  };

  /** A stranger of the cluster writes our labels in a namespace of their own. */
  function answerWithStranger(asked: Asked, response: ServerResponse): void {
    const answers: Record<string, object> = {
      [namespacesPath]: listOf([made()]),
      "/apis/apps/v1/deployments": listOf([deployment("stranger", "foreign"), deployment(home, "own")]),
      "/api/v1/pods": listOf([pod("stranger", "10.6.6.6"), pod(home, "10.0.0.7")]),
    };
    if (asked.query.get("watch")) response.writeHead(200).flushHeaders();
    else sendJson(response, answers[asked.path] ?? {});
  }

  it("are watched by two watches for all, and pods of strangers with the same labels get no request", async () => {
    server.answer(answerWithStranger);
    const stop = new AbortController();
    for await (const { endpoints } of runtime().observe(handle, stop.signal)) {
      expect(endpoints.map(({ host }) => host)).toEqual(["10.0.0.7"]);
      stop.abort();
    }
    const asked = server.asked.map(({ path, query }) => `${path}?${query.get("labelSelector")}`);
    const selector = "treadle.dev/installation=treadle,treadle.dev/instance";
    expect([...new Set(asked)].sort()).toEqual([
      ...[`/api/v1/pods?${selector}`, `/apis/apps/v1/deployments?${selector}`],
    ]);
  });

  it("are found, and removed when they belong to nothing, in our own namespaces alone", async () => {
    server.answer(answerWithStranger);
    expect(await runtime().find(instance)).toMatchObject({ namespace: home, uid: "own" });
    await runtime().removeOthers(async () => new Set());
    const removed = server.asked.filter(({ method }) => method === "DELETE").map(({ path }) => path);
    expect(removed).toEqual([`/apis/apps/v1/namespaces/${home}/deployments/${objectName(instance)}`]);
  });

  it("of earlier versions are in the namespace of the platform", async () => {
    server.answer((_asked, response) => sendJson(response, deployment("agents", "own")));
    const { namespace: _, ...earlier } = handle;
    expect(await runtime().isRunning(earlier)).toBe(true);
    expect(server.asked[0]!.path).toBe(`/apis/apps/v1/namespaces/agents/deployments/${handle.name}`);
  });
});

describe("the rights of deploy/kubernetes-cluster-role.json", () => {
  type Item = { kind: string; rules?: object[] };
  const itemsOf = (name: string) =>
    (
      JSON.parse(readFileSync(new URL(`../../../../deploy/${name}.json`, import.meta.url), "utf8")) as {
        items: Item[];
      }
    ).items;

  it("are those of one namespace, and namespaces, none of which it may change", () => {
    const [one] = itemsOf("kubernetes-role").filter(({ kind }) => kind === "Role");
    const [all] = itemsOf("kubernetes-cluster-role").filter(({ kind }) => kind === "ClusterRole");
    const [namespaces, quotas, ...rest] = all!.rules!;
    expect(rest).toEqual(one!.rules);
    expect(namespaces).toEqual({
      ...{ apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list", "create", "delete"] },
    });
    expect(quotas).toEqual({
      ...{ apiGroups: [""], resources: ["resourcequotas"], verbs: ["list", "create", "patch", "delete"] },
    });
  });
});
