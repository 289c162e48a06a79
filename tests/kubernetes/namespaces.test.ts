import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readKubernetesAccess } from "../../src/control-plane/runtimes/kubernetes/access.ts";
import { KubernetesApi } from "../../src/control-plane/runtimes/kubernetes/api.ts";
import { KubernetesRuntime } from "../../src/control-plane/runtimes/kubernetes/kubernetes-runtime.ts";
import { describeNamespace } from "../../src/control-plane/runtimes/kubernetes/namespaces.ts";
import { KubernetesRefusal } from "../../src/control-plane/runtimes/kubernetes/refusal.ts";
import { oneReplica, type StartSpec } from "../../src/control-plane/runtimes/runtime.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, type RevisionBody, revisionDone } from "../support/deployments.ts";
import { openNamespace } from "../support/kubernetes/cluster-client.ts";
import { type KubernetesSite, openKubernetesSite } from "../support/kubernetes/kubernetes-site.ts";
import { openAsPlatform } from "../support/kubernetes/platform-account.ts";

/** A namespace for each workspace, in a real cluster, with the rights of the two manifests. */
let site: KubernetesSite;
let own: string;

beforeAll(async () => {
  site = await openKubernetesSite({ namespacePerWorkspace: true, environment: { TREADLE_BUILDS: "jobs" } });
  own = `${site.space.name}-${site.plane().workspaceId}`;
}, 900_000);
afterAll(() => site?.stop(), 300_000);

const namesIn = async (path: string, selector = "treadle.dev/deployment") =>
  (await site.space.api.list(path, selector)).items.map(({ metadata }) => metadata.name);

describe("a namespace for each workspace", { timeout: 900_000 }, () => {
  it("has the builds, servers, budgets and policies of its workspace; that of the platform has none", async () => {
    const built = waitUntil(
      async () => (await namesIn(`/apis/batch/v1/namespaces/${own}/jobs`, "treadle.dev/build"))[0],
      { what: "the Job of the build", timeoutMs: 300_000 },
    );
    const [{ deployment: made }] = await Promise.all([
      site.deploy("homed", "at home", { resources: { min_scale: 2, max_scale: 2 } }),
      built,
    ]);
    expect(await site.plane().call("GET", `/d/${made.slug}/version`)).toMatchObject({
      ...{ status: 200, body: { answer: "at home" } },
    });
    expect(await namesIn(`/api/v1/namespaces/${own}/pods`, `treadle.dev/deployment=${made.id}`)).toHaveLength(
      2,
    );
    expect(await namesIn(`/apis/policy/v1/namespaces/${own}/poddisruptionbudgets`)).toHaveLength(1);
    const policies = `/apis/networking.k8s.io/v1/namespaces/${own}/networkpolicies`;
    expect(await namesIn(policies, "treadle.dev/installation")).toHaveLength(2);
    for (const kind of ["pods", "secrets", "services"])
      expect(await namesIn(`${site.space.path}/${kind}`)).toEqual([]);
    const log = await waitUntil(
      async () => {
        const path = `/v1/projects/${made.id}/deploy_logs`;
        const { body } = await site.plane().call<{ logs: unknown[] }>("POST", path, { limit: 10 });
        return body.logs.length > 0 && body.logs;
      },
      { what: "lines of its pods", timeoutMs: 300_000 },
    );
    expect(log).not.toEqual([]);
  });

  it("is found again after a restart, and left alone while its workspace lives", async () => {
    const before = await namesIn(`/api/v1/namespaces/${own}/pods`);
    await site.restart();
    const { body } = await site
      .plane()
      .call<{ resources: { id: string; slug: string }[] }>("GET", "/v2/deployments");
    const [deployment] = body.resources;
    await waitUntil(
      async () => (await site.plane().call("GET", `/d/${deployment!.slug}/version`)).status === 200,
      { what: "the server to be found again", timeoutMs: 300_000 },
    );
    expect((await namesIn(`/api/v1/namespaces/${own}/pods`)).sort()).toEqual(before.sort());
    await site.runtime().removeWorkspaces!(async () => false);
    // Also one whose workspace is gone, while something runs in it.
    await site.runtime().removeWorkspaces!(async () => true);
    expect(await site.space.api.get(`/api/v1/namespaces/${own}`)).not.toHaveProperty(
      "metadata.deletionTimestamp",
    );
    await site.plane().call("DELETE", `/v2/deployments/${deployment!.id}`);
    await waitUntil(async () => (await namesIn(`/api/v1/namespaces/${own}/pods`)).length === 0, {
      ...{ what: "its pods to be gone", timeoutMs: 300_000 },
    });
    await waitUntil(
      async () => {
        await site.runtime().removeWorkspaces!(async () => true);
        return (await site.space.api.get(`/api/v1/namespaces/${own}`)) === null;
      },
      { what: "the namespace to be gone", timeoutMs: 300_000, intervalMs: 500 },
    );
  });
});

describe("secret_references", { timeout: 900_000 }, () => {
  const reference = (secret_name: string) => ({
    secret_references: [{ name: "SUFFIX", secret_name, secret_key: "value" }],
  });

  async function makeSecret(name: string, labels: Record<string, string>, data: Record<string, string>) {
    const path = `/api/v1/namespaces/${own}/secrets/${name}`;
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name, labels }, stringData: data };
    await site.space.api.apply(path, secret, "test");
  }

  it("give a server what is shared with its workspace, and nothing else", async () => {
    const { deployment, revision } = await site.deploy("reading", "it reads");
    expect(revision.status).toBe("DEPLOYED");
    const patch = async (secret_name: string) => {
      const path = `/v2/deployments/${deployment.id}`;
      const { status, body } = await site.plane().call<DeploymentBody>("PATCH", path, reference(secret_name));
      expect(status).toBe(200);
      return body.latest_revision_id!;
    };
    const end = async (id: string) => await revisionDone(site.plane(), deployment.id, id, 120_000);
    const mine = { "treadle.dev/shared-with": site.plane().workspaceId };
    await makeSecret("of-others", { "treadle.dev/shared-with": randomUUID() }, { value: "stolen" });
    await makeSecret("of-nobody", {}, { value: "stolen" });
    const [environment] = await namesIn(`/api/v1/namespaces/${own}/secrets`, "treadle.dev/instance");
    for (const name of ["absent", "of-others", "of-nobody", environment!]) {
      const { status, status_message } = await end(await patch(name));
      expect({ status, status_message }).toEqual({
        status: "DEPLOY_FAILED",
        status_message: expect.stringContaining(
          `The namespace ${own} has no Secret ${name} that is shared with this workspace`,
        ),
      });
    }
    await makeSecret("mine", mine, { other: "x" });
    const waiting = await patch("mine");
    const path = `/v2/deployments/${deployment.id}/revisions/${waiting}`;
    await waitUntil(
      async () => {
        const { body } = await site.plane().call<RevisionBody>("GET", path);
        return body.status_message?.includes(`couldn't find key value in Secret ${own}/mine`);
      },
      { what: "the words about the key", timeoutMs: 300_000 },
    );
    await makeSecret("mine", mine, { value: "from the cluster" });
    expect(await end(waiting)).toMatchObject({ status: "DEPLOYED" });
    const answer = await site.plane().call("GET", `/d/${deployment.slug}/version`);
    expect(answer).toMatchObject({ status: 200, body: { suffix: "from the cluster" } });
  });
});

describe("the rights for it", { timeout: 900_000 }, () => {
  /** As the platform describes it, but for what is said. */
  function namespaceLike(change: { name?: string; labels?: Record<string, string | undefined> }) {
    const ours = { namespace: site.space.name, installation: "treadle" };
    const { metadata, ...rest } = describeNamespace(ours, randomUUID());
    const labels = { ...metadata.labels, ...change.labels };
    return { ...rest, metadata: { name: change.name ?? metadata.name, labels } };
  }

  it("change nothing in namespaces of others, and make none but restricted ones of workspaces", async () => {
    const victim = await openNamespace();
    const api = new KubernetesApi(await readKubernetesAccess({ kubeconfig: site.kubeconfig }));
    const named = (name: string, labels = {}) => ({
      ...{ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } },
    });
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "planted" },
      stringData: { a: "b" },
    };
    const refusal = { status: 422, words: expect.stringContaining("outside of the namespaces that it made") };
    const unlike = { status: 422, words: expect.stringContaining("no namespaces but those of workspaces") };
    const spoil = () =>
      api.patch(`${victim.path}/secrets/theirs`, { stringData: { a: "stolen" } }, "treadle");
    try {
      await victim.api.apply(
        `${victim.path}/secrets/theirs`,
        { ...secret, metadata: { name: "theirs" } },
        "test",
      );
      // A policy that was made holds a moment later.
      await waitUntil(
        () =>
          spoil().then(
            () => false,
            (error: unknown) => error instanceof KubernetesRefusal && error.status === 422,
          ),
        { what: "the policy to be in force", timeoutMs: 300_000 },
      );
      const attempts = [
        () => api.create(`${victim.path}/secrets`, secret),
        spoil,
        () => api.remove(victim.path),
        () => api.create("/api/v1/namespaces", named(`${site.space.name}-bare`)),
        () =>
          api.create(
            "/api/v1/namespaces",
            named(`${site.space.name}-bare`, { "treadle.dev/installation": "treadle" }),
          ),
      ];
      for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject(refusal);
      const enforce = "pod-security.kubernetes.io/enforce";
      for (const made of [
        namespaceLike({ labels: { [enforce]: "privileged" } }),
        namespaceLike({ labels: { [enforce]: undefined } }),
        namespaceLike({ name: `other-${randomUUID()}` }),
      ])
        await expect(api.create("/api/v1/namespaces", made)).rejects.toMatchObject(unlike);
      expect(await victim.api.get(victim.path)).toMatchObject({ status: { phase: "Active" } });
    } finally {
      api.close();
      await victim.remove();
    }
  });

  it("are named when they are missing", async () => {
    const space = await openNamespace();
    const api = await openAsPlatform(space);
    const runtime = new KubernetesRuntime({
      ...{ api, namespace: space.name, namespacePer: "workspace", installation: "test", baseImage: "image" },
      ...{ platformUrl: () => "http://10.0.0.1", platformRanges: [], databaseUrl: "postgres://10.0.0.1/x" },
      ...{ folder: "/tmp", walls: null, graceSeconds: 1, startSeconds: 1 },
      logger: createLogger({ level: "silent" }),
    });
    const ids = { instanceId: randomUUID(), deploymentId: randomUUID(), revisionId: randomUUID() };
    const spec: StartSpec = {
      ...{ ...ids, workspaceId: randomUUID(), port: 8000, folder: null, configPath: "", image: "image" },
      ...{ pinned: null, environment: {}, instanceFolder: "", home: "", logPath: "", scale: oneReplica },
      resources: { memoryBytes: null, cpus: null },
    };
    try {
      const start = runtime.start(spec, new AbortController().signal);
      await expect(start).rejects.toThrow(/cannot list.*deploy\/kubernetes-cluster-role\.json/);
    } finally {
      api.close();
      await space.remove();
    }
  });
});
