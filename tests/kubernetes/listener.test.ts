import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import type { GitFiles } from "../support/components/git-repository.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import type { DeploymentBody } from "../support/deployments.ts";
import { openNamespace, type TestNamespace } from "../support/kubernetes/cluster-client.ts";
import { imageProject } from "../support/kubernetes/kubernetes-site.ts";
import { type ListenerPod, startListenerPod } from "../support/kubernetes/listener-pod.ts";
import { ListenerSite } from "../support/listener-site.ts";
import { quickInstall } from "../support/quick-project.ts";
import { createClient, type TreadleClient, writeProject } from "../support/treadle-client.ts";

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

/** A platform that knows no cluster, and a listener in one: a pod with the rights of the manifest. */
let site: ListenerSite;
let space: TestNamespace;
let pod: ListenerPod;
let client: TreadleClient;
let folder: TempFolder;
let listener: { id: string; key: string };
let deployment: DeploymentBody;

const patient = { timeoutMs: 300_000 };

beforeAll(async () => {
  [site, space, folder] = await Promise.all([
    ListenerSite.prepare(),
    openNamespace(),
    createTempFolder("listener-in-cluster"),
  ]);
  client = createClient(folder.path, {
    ...{ TREADLE_URL: site.url, TREADLE_API_KEY: site.apiKey },
    TREADLE_WORKSPACE_ID: site.platform!.ready.workspace_id,
  });
  listener = await client.json(["listeners", "create", "factory", "--type", "k8s"]);
  pod = await startListenerPod(space, {
    ...{ listenerId: listener.id, key: listener.key },
    ...{ platformUrl: site.url, databaseUrl: site.databases.place.url },
  });
});
afterAll(async () => {
  await pod?.stop();
  await space?.remove();
  await site?.stop();
  await folder?.remove();
});

const project = (answer: string, more: GitFiles = {}) =>
  writeProject(join(folder.path, answer), imageProject(answer, more) as Record<string, string>);
const deploy = async (answer: string, ...more: string[]) => {
  const words = ["deploy", "--name", "factory-bot", "--install-command", quickInstall, ...more];
  const made = await client.json<{ deployment: DeploymentBody; revision: { id: string; status: string } }>(
    words,
    { cwd: await project(answer) },
  );
  deployment = made.deployment;
  return made.revision;
};
const ask = (path: string) => fetch(`${deployment.url}${path}`, { headers: site.headers });
const linesOf = async (revisionId: string, type: "build" | "deploy") => {
  const path = `/v2/deployments/${deployment.id}/revisions/${revisionId}/logs?type=${type}&limit=1000`;
  const { body } = await site.call<{ logs: { message: string }[] }>("GET", path);
  return body.logs.map(({ message }) => message);
};
const namesOf = async (path: string, selector: string) =>
  (await space.api.list(path, selector)).items.map(({ metadata }) => metadata.name);

it("is built in the cluster of its listener, with a Secret of that cluster, and served there", async () => {
  const labels = { "treadle.dev/shared-with": site.platform!.ready.workspace_id };
  await space.api.apply(
    `${space.path}/secrets/shared`,
    {
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "shared", labels } },
      stringData: { value: "from the other cluster" },
    },
    "treadle-test",
  );
  const job = waitUntil(
    async () => (await namesOf(`/apis/batch/v1/namespaces/${space.name}/jobs`, "treadle.dev/build"))[0],
    { what: "the Job of the build", ...patient },
  );
  const [revision] = await Promise.all([
    deploy("one", "--listener", listener.id, "--secret-from", "SUFFIX=shared/value"),
    job,
  ]);
  expect(revision.status).toBe("DEPLOYED");
  expect(deployment.url).toBe(`${pod.url}/d/${deployment.slug}`);
  expect(await (await ask("/version")).json()).toEqual({ answer: "one", suffix: "from the other cluster" });
  const ofDeployment = `treadle.dev/deployment=${deployment.id}`;
  expect(await namesOf(`${space.path}/pods`, ofDeployment)).toHaveLength(1);
  expect((await linesOf(revision.id, "build")).join("\n")).toContain(`$ ${quickInstall}`);
  await waitUntil(async () => (await linesOf(revision.id, "deploy")).length > 0, {
    what: "lines of its pod at the platform",
    ...patient,
  });
  expect((await fetch(`${deployment.url}/version`, { headers: { "x-api-key": "nobody's" } })).status).toBe(
    401,
  );
  const { status, code, body } = await site.call<{ detail: string }>("GET", `/d/${deployment.slug}/version`);
  expect([status, code, body.detail]).toEqual([
    421,
    "gateway.elsewhere",
    expect.stringContaining(deployment.url),
  ]);
});

it("gets a second revision, and serves the whole time", async () => {
  const answers = new Set<string>();
  let going = true;
  const asking = (async () => {
    while (going) {
      const response = await ask("/version");
      answers.add(
        response.ok ? ((await response.json()) as { answer: string }).answer : `${response.status}`,
      );
    }
  })();
  expect((await deploy("two")).status).toBe("DEPLOYED");
  await waitUntil(async () => answers.has("two"), { what: "the second revision to answer", ...patient });
  going = false;
  await asking;
  expect([...answers].sort()).toEqual(["one", "two"]);
});

it("leaves nothing behind in either place when it is deleted", async () => {
  const path = `/v2/deployments/${deployment.id}`;
  expect((await site.call("DELETE", path)).status).toBe(204);
  await waitUntil(async () => (await ask("/version")).status === 404, { what: "the gateway", ...patient });
  expect((await site.call("DELETE", `${path}?force=true`)).status).toBe(204);
  const selector = `treadle.dev/deployment=${deployment.id}`;
  await waitUntil(
    async () => {
      const kinds = ["pods", "secrets", "services"].map((kind) => `${space.path}/${kind}`);
      const owners = ["deployments", "replicasets"].map((kind) => `${space.apps}/${kind}`);
      const left = await Promise.all([
        ...[...kinds, ...owners].map((each) => namesOf(each, selector)),
        ...["/apis/batch/v1", "/api/v1"].map((group) =>
          namesOf(
            `${group}/namespaces/${space.name}/${group === "/api/v1" ? "pods" : "jobs"}`,
            "treadle.dev/build",
          ),
        ),
      ]);
      return left.flat().length === 0;
    },
    { what: "everything in the cluster to be gone", ...patient },
  );
  const rows = async (of: "platform" | "place") =>
    (
      await raw`select 1 from deployments where id = ${deployment.id}`.execute(
        site.databases[of].database.sql,
      )
    ).rows.length;
  await waitUntil(async () => (await rows("place")) + (await rows("platform")) === 0, {
    what: "both databases to forget it",
    ...patient,
  });
  const { rows: left } = await raw`
    select 1 from pg_database where datname = ${`treadle_d_${deployment.id.replaceAll("-", "")}`}`.execute(
    site.databases.place.database.sql,
  );
  expect(left).toEqual([]);
});
