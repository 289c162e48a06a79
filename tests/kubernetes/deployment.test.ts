import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../support/components/wait-until.ts";
import { type KubernetesSite, openKubernetesSite } from "../support/kubernetes/kubernetes-site.ts";

let site: KubernetesSite;

beforeAll(async () => {
  site = await openKubernetesSite();
}, 900_000);
afterAll(() => site?.stop());

const secrets = [{ name: "SUFFIX", value: "-with-a-secret" }];

describe("deployments on Kubernetes", () => {
  it("go on while the platform restarts, and are started again when they end", {
    timeout: 900_000,
  }, async () => {
    const { deployment } = await site.deploy("restart", "still here");
    const { apiKey, workspaceId } = site.plane();
    const headers = { "x-api-key": apiKey, "x-tenant-id": workspaceId };
    const version = () => site.plane().call("GET", `/d/${deployment.slug}/version`);
    const pods = async () => (await site.pods(deployment.id)).map(({ metadata }) => metadata.uid);
    const before = await pods();
    expect(before).toHaveLength(1);
    await site.restart();
    expect(await version()).toMatchObject({ status: 200, body: { answer: "still here" } });
    expect(await pods()).toEqual(before);
    await fetch(`${site.plane().url}/d/${deployment.slug}/die`, { method: "POST", headers });
    await waitUntil(
      async () => {
        const now = await pods();
        const answer = await fetch(`${site.plane().url}/d/${deployment.slug}/version`, { headers });
        await answer.text();
        // The one that ended may take its whole grace to go.
        return answer.status === 200 && now.some((uid) => uid !== before[0]);
      },
      { what: "another pod to serve", timeoutMs: 300_000 },
    );
  });

  it("builds from git, serves through the gateway, and leaves nothing when it is deleted", {
    timeout: 900_000,
  }, async () => {
    const { deployment, revision } = await site.deploy("pod", "from a pod", { secrets });
    expect(revision).toMatchObject({ status: "DEPLOYED" });
    const answer = await site.plane().call("GET", `/d/${deployment.slug}/version`);
    expect(answer).toMatchObject({ status: 200, body: { answer: "from a pod", suffix: "-with-a-secret" } });
    expect((await site.plane().call("DELETE", `/v2/deployments/${deployment.id}`)).status).toBeLessThan(300);
    const left = async () => {
      const lists = await Promise.all(
        [
          `${site.space.apps}/deployments`,
          `${site.space.apps}/replicasets`,
          ...["pods", "secrets", "services"].map((kind) => `${site.space.path}/${kind}`),
        ].map((path) => site.space.api.list(path, `treadle.dev/deployment=${deployment.id}`)),
      );
      return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
    };
    await waitUntil(async () => (await left()).length === 0, {
      what: "everything to be gone",
      timeoutMs: 300_000,
    });
  });
});
