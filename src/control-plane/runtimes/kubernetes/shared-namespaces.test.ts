import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { type Asked, openApiServer, sendJson } from "../../../../tests/support/kubernetes/api-server.ts";
import { createLogger } from "../../../platform/logger.ts";
import { oneReplica, type StartSpec } from "../runtime.ts";
import { KubernetesRuntime } from "./kubernetes-runtime.ts";
import { objectName } from "./objects.ts";

const { server, api } = await openApiServer({ namespace: "first" });

type Labels = Record<string, string>;
type Expression = { key: string; operator: string };
type Policy = {
  metadata: { name: string };
  spec: { podSelector: { matchLabels: Labels; matchExpressions: Expression[] }; ingress: unknown[] };
};
type Made = {
  metadata: { name: string; labels: Labels };
  spec: { template: { metadata: { labels: Labels } } };
};

/** Keeps what is applied, and lists by labels, as an API server does. */
class Shelf {
  readonly objects = new Map<string, object>();

  answer(asked: Asked, response: ServerResponse): void {
    const { method, path, body, query } = asked;
    if (method === "PATCH" && !path.endsWith("/scale")) this.#apply(path, body as Made);
    if (method === "GET" && path.endsWith("/deployments")) {
      const fits = selectorOf(query.get("labelSelector")!);
      const items = this.under<Made>(`${path}/`).filter(({ metadata }) => fits(metadata.labels));
      sendJson(response, { metadata: { resourceVersion: "1" }, items });
      return;
    }
    const found = this.objects.get(path.replace(/\/scale$/, ""));
    if (method === "DELETE") this.objects.delete(path);
    sendJson(response, found ?? { kind: "Status", code: 404 }, found ? 200 : 404);
  }

  under<Item>(path: string): Item[] {
    return [...this.objects].filter(([each]) => each.startsWith(path)).map(([, object]) => object as Item);
  }

  #apply(path: string, body: Made): void {
    const [, namespace] = /\/namespaces\/([^/]+)\//.exec(path)!;
    const metadata = { ...body.metadata, namespace, uid: path, resourceVersion: "1" };
    this.objects.set(path, { ...body, metadata });
  }
}

/** `a=b`, `a` and `!a`, separated by commas. */
function selectorOf(text: string): (labels: Labels) => boolean {
  return (labels) =>
    text.split(",").every((term) => {
      const [key, value] = term.split("=") as [string, string | undefined];
      if (key.startsWith("!")) return !(key.slice(1) in labels);
      return value === undefined ? key in labels : labels[key] === value;
    });
}

function isSelected({ spec: { podSelector } }: Policy, labels: Labels): boolean {
  const { matchLabels, matchExpressions } = podSelector;
  const isMet = ({ key, operator }: Expression) => (operator === "Exists") === key in labels;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(isMet)
  );
}

const listener = (namespace: string, otherNamespaces: string[]) =>
  new KubernetesRuntime({
    ...{ api, namespace, otherNamespaces, installation: "treadle", baseImage: "image", folder: "/tmp" },
    ...{ graceSeconds: 1, startSeconds: 1, walls: null, logger: createLogger({ level: "silent" }) },
    ...{ platformUrl: () => "http://10.0.0.1", platformRanges: [], databaseUrl: "postgres://10.0.0.1/x" },
  });

async function start(runtime: KubernetesRuntime, namespace: string | null): Promise<string> {
  const ids = { instanceId: randomUUID(), deploymentId: randomUUID(), revisionId: randomUUID() };
  const spec: StartSpec = {
    ...{ ...ids, workspaceId: randomUUID(), port: 8000, folder: null, configPath: "", image: "image" },
    ...{ pinned: null, environment: {}, instanceFolder: "", home: "", logPath: "", scale: oneReplica },
    ...{ resources: { memoryBytes: null, cpus: null }, namespace },
  };
  await runtime.start(spec, new AbortController().signal);
  return ids.instanceId;
}

/** Both have the default installation; the first also has the second's own namespace. */
async function twoListeners() {
  const shelf = new Shelf();
  server.answer((asked, response) => shelf.answer(asked, response));
  const first = listener("first", ["team-a", "second"]);
  const second = listener("second", ["team-a"]);
  return {
    ...{ shelf, first, second },
    ofFirst: [await start(first, null), await start(first, "team-a"), await start(first, "second")],
    ofSecond: [await start(second, null), await start(second, "team-a")],
    left: () => [...shelf.objects.keys()].filter((path) => path.includes("/deployments/")),
  };
}

const pathOf = (namespace: string, instanceId: string) =>
  `/apis/apps/v1/namespaces/${namespace}/deployments/${objectName(instanceId)}`;

describe("a namespace that two listeners of the same installation have", () => {
  it("has servers of both: each finds and removes its own alone", async () => {
    const { first, second, ofFirst, ofSecond, left } = await twoListeners();
    for (const id of ofFirst) {
      expect(await first.find(id)).toMatchObject({ instance: id });
      expect(await second.find(id)).toBeNull();
    }
    for (const id of ofSecond) {
      expect(await second.find(id)).toMatchObject({ instance: id });
      expect(await first.find(id)).toBeNull();
    }
    await second.removeOthers(async () => new Set());
    expect(left()).toEqual([
      ...[pathOf("first", ofFirst[0]!), pathOf("team-a", ofFirst[1]!), pathOf("second", ofFirst[2]!)],
    ]);
    await first.removeOthers(async () => new Set());
    expect(left()).toEqual([]);
  });

  it("has a policy of each, and none opens the servers of the other", async () => {
    const { shelf } = await twoListeners();
    const policiesIn = (namespace: string) =>
      shelf.under<Policy>(`/apis/networking.k8s.io/v1/namespaces/${namespace}/`);
    expect(policiesIn("team-a").map(({ metadata }) => metadata.name)).toEqual([
      ...["treadle-agent-treadle.first", "treadle-agent-treadle.second"],
    ]);
    for (const namespace of ["first", "team-a", "second"]) {
      for (const made of shelf.under<Made>(`/apis/apps/v1/namespaces/${namespace}/`)) {
        const { labels } = made.spec.template.metadata;
        const opening = policiesIn(namespace).filter((policy) => isSelected(policy, labels));
        expect(opening).toHaveLength(1);
        const from = labels["treadle.dev/platform-namespace"];
        if (from) expect(JSON.stringify(opening[0]!.spec.ingress)).toContain(`"${from}"`);
        else expect(JSON.stringify(opening[0]!.spec.ingress)).not.toContain("namespaceSelector");
      }
    }
  });

  it("changes nothing in the listener's own: names and labels are what they were", async () => {
    const { shelf } = await twoListeners();
    const inOwn = [...shelf.objects].filter(([path]) => path.includes("/namespaces/first/"));
    expect(inOwn.map(([path]) => path)).toContain(
      "/apis/networking.k8s.io/v1/namespaces/first/networkpolicies/treadle-agent-treadle",
    );
    for (const [, object] of inOwn)
      expect((object as Made).metadata.labels).not.toHaveProperty(["treadle.dev/platform-namespace"]);
  });

  it("is prepared again for each start: its owner may have made it again", async () => {
    const { shelf, first } = await twoListeners();
    const paths = () => [...shelf.objects.keys()].filter((path) => path.includes("/namespaces/team-a/"));
    const before = paths().filter((path) => /networkpolicies.*first|serviceaccounts/.test(path));
    for (const path of paths()) shelf.objects.delete(path);
    await start(first, "team-a");
    expect(before).toHaveLength(2);
    expect(paths()).toEqual(expect.arrayContaining(before));
  });
});
