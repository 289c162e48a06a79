import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { gatewayDefinition } from "../../scripts/kubernetes/gateway-definitions.ts";
import type { KubernetesObject } from "../../src/control-plane/runtimes/kubernetes/api.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { openNamespace, type TestNamespace } from "../support/kubernetes/cluster-client.ts";
import { renderChart, type Values } from "../support/kubernetes/helm.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

/** The API server judges the routes of the chart by the schema of the Gateway API. No controller serves them here. */
type Definition = KubernetesObject & { status?: { conditions?: { type: string; status: string }[] | null } };
type Route = KubernetesObject & { spec: { rules: { matches?: { path?: object }[] }[] } };

const definitionPath =
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/httproutes.gateway.networking.k8s.io";
let space: TestNamespace;
let madeHere = false;

beforeAll(async () => {
  space = await openNamespace();
  // A cluster that has it keeps its own.
  madeHere = (await space.api.get(definitionPath)) === null;
  if (madeHere)
    await space.api.apply(
      definitionPath,
      parse(await gatewayDefinition("httproutes")) as object,
      "treadle-test",
    );
  await waitUntil(
    async () => {
      const found = await space.api.get<Definition>(definitionPath);
      // Null in a new one.
      return (found?.status?.conditions ?? []).some(
        ({ type, status }) => type === "Established" && status === "True",
      );
    },
    { what: "the API server to know HTTPRoutes", timeoutMs: 120_000 },
  );
  // They are served a moment later.
  await waitUntil(() => space.api.list(listPath(), "").catch(() => null), {
    ...{ what: "the paths of HTTPRoutes", timeoutMs: 120_000 },
  });
});
afterAll(async () => {
  if (madeHere) await space.api.remove(definitionPath);
  await space?.remove();
});

const listPath = () => `/apis/gateway.networking.k8s.io/v1/namespaces/${space.name}/httproutes`;
const pathOf = ({ metadata }: Route) => `${listPath()}/${metadata.name}`;
const apply = (route: Route) => space.api.apply<Route>(pathOf(route), route, "treadle-test");

async function routesOf(values: Values): Promise<Route[]> {
  const rendered = await renderChart<Route>(values, space.name);
  return rendered.filter(({ kind }) => kind === "HTTPRoute");
}

const httpRoute = {
  ...{ enabled: true, parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }] },
  ...{ hostnames: ["treadle.example.com"], deploymentHostnames: ["*.agents.example.com"] },
};
const distributed = {
  ...{ mode: "distributed", existingSecret: "settings", httpRoute },
  settings: { TREADLE_PUBLIC_URL: "https://treadle.example.com", TREADLE_BLOB_URL: "s3://treadle" },
};
const single = { mode: "single", httpRoute: { enabled: true, parentRefs: [{ name: "public" }] } };

it.each([
  ["distributed", distributed, 2],
  ["single", single, 1],
])("the API server takes the routes of the mode %s as they are", async (_mode, values, count) => {
  const routes = await routesOf(values);
  expect(routes).toHaveLength(count);
  for (const route of routes) {
    const stored = await apply(route);
    // Also as it was stored, with every field.
    expect(stored).toMatchObject({ spec: route.spec });
  }
});

it("a route that is none is refused, so the one above was looked at", async () => {
  const [route] = await routesOf(distributed);
  const wrong = (matches: object[]) => ({
    ...route!,
    metadata: { ...route!.metadata, name: "wrong" },
    spec: { ...route!.spec, rules: [{ ...route!.spec.rules[0], matches }] },
  });
  for (const match of [
    { path: { type: "PathPrefix", value: "d" } },
    { path: { type: "Begins", value: "/d" } },
  ])
    await expect(apply(wrong([match]) as Route)).rejects.toMatchObject({ status: 422 });
  const unknown = wrong([{ paths: [] }]) as Route;
  await expect(apply(unknown)).rejects.toThrow(/paths/);
});
