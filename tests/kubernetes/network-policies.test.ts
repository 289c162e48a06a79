import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../support/components/wait-until.ts";
import { openNamespace, type TestNamespace } from "../support/kubernetes/cluster-client.ts";
import { agentImage } from "../support/kubernetes/images.ts";
import { type KubernetesSite, openKubernetesSite } from "../support/kubernetes/kubernetes-site.ts";

type Pod = {
  metadata: { name: string };
  spec: { containers: { ports?: { containerPort: number }[] }[] };
  status: { podIP?: string; phase?: string };
};
type Place = { host: string; port: number };
/** Whoever is asked tries to connect, and says `connected`, `nothing` (no answer at all) or the code of an error. */
type Caller = (place: Place) => Promise<string>;

/** Servers of two workspaces in one namespace of one platform, where only policies are between them. */
let site: KubernetesSite;
let elsewhere: TestNamespace;
let second: string;

beforeAll(async () => {
  site = await openKubernetesSite();
  elsewhere = await openNamespace();
  const { body } = await site.plane().call<{ id: string }>("POST", "/v2/workspaces", { name: "Second" });
  second = body.id;
}, 900_000);
afterAll(async () => {
  await site?.stop();
  await elsewhere?.remove();
}, 300_000);

const attempt = `import { connect } from "node:net";
const attempt = (host, port) => new Promise((resolve) => {
  const socket = connect({ host, port: Number(port), timeout: 4_000 });
  const end = (said) => { socket.destroy(); resolve(said); };
  socket.once("connect", () => end("connected"));
  socket.once("timeout", () => end("nothing"));
  socket.once("error", (error) => end(error.code));
});
`;
const files = {
  "app.js": `${attempt}import { Hono } from "hono";
export const app = new Hono();
app.get("/reach", async (c) => c.json(await attempt(c.req.query("host"), c.req.query("port"))));
`,
};

async function deployedServer(name: string, workspaceId?: string) {
  const more = { files, ...(workspaceId ? { workspaceId } : {}) };
  const { deployment, revision } = await site.deploy(name, name, more);
  expect(revision).toMatchObject({ status: "DEPLOYED" });
  const [pod] = (await site.pods(deployment.id)) as unknown as Pod[];
  const at = { host: pod!.status.podIP!, port: pod!.spec.containers[0]!.ports![0]!.containerPort };
  const call: Caller = async ({ host, port }) => {
    const path = `/d/${deployment.slug}/reach?host=${host}&port=${port}`;
    const tenant = { "x-tenant-id": workspaceId ?? site.plane().workspaceId };
    const { status, body } = await site.plane().call<string>("GET", path, undefined, tenant);
    expect({ status, body }).toMatchObject({ status: 200 });
    return body;
  };
  return { at, call };
}

/** Another pod: it takes connections at 8080 and at 53, the port of DNS. */
async function otherPod(space: TestNamespace, name: string, labels: Record<string, string>) {
  const script = `${attempt}import { createServer } from "node:http";
const answer = async (request, response) => {
  const { searchParams } = new URL(request.url, "http://here");
  response.end(searchParams.has("host") ? await attempt(searchParams.get("host"), searchParams.get("port")) : "here");
};
for (const port of [53, 8080]) createServer(answer).listen(port);
`;
  const path = `${space.path}/pods/${name}`;
  const container = {
    ...{ name: "other", image: agentImage, imagePullPolicy: "IfNotPresent" },
    command: ["node", "--input-type=module", "--eval", script],
    securityContext: { runAsUser: 0 },
  };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name, labels } };
  await space.api.apply(
    path,
    { ...pod, spec: { containers: [container], terminationGracePeriodSeconds: 1 } },
    "treadle-test",
  );
  let last: Pod | null = null;
  const host = await waitUntil(
    async () => {
      last = await space.api.get<Pod>(path);
      const address = last?.status.phase === "Running" ? last.status.podIP : undefined;
      const answer = address && (await fetch(`http://${address}:8080/`).catch(() => null));
      return answer && (await answer.text()) === "here" ? address : undefined;
    },
    { what: `the pod ${name}`, timeoutMs: 300_000, evidence: () => JSON.stringify(last?.status) },
  );
  const call: Caller = async (place) =>
    await (await fetch(`http://${host}:8080/?host=${place.host}&port=${place.port}`)).text();
  return { web: { host, port: 8080 }, dns: { host, port: 53 }, call };
}

/** Of a busy machine an answer may be late. */
const reaches = async (call: Caller, place: Place, what: string) => {
  let said = "";
  await waitUntil(
    async () => {
      said = await call(place);
      return said === "connected";
    },
    { what: `${what} to be reached`, timeoutMs: 120_000, evidence: () => said },
  );
};

describe.skipIf(process.env.TREADLE_TEST_CLUSTER_UNENFORCED)(
  "the network of deployed servers",
  {
    timeout: 900_000,
  },
  () => {
    it("lets the platform in, and nobody else: no server of another workspace, and no other pod", async () => {
      const [agent, intruder, stranger, platform] = await Promise.all([
        deployedServer("guarded"),
        deployedServer("intruder", second),
        otherPod(elsewhere, "stranger", {}),
        otherPod(site.space, "platform", { "app.kubernetes.io/name": "treadle" }),
      ]);
      // What a server needs: the platform, DNS. That it serves says that it reaches its database.
      await reaches(platform.call, agent.at, "a server by the platform");
      await reaches(agent.call, platform.web, "the platform by a server");
      await reaches(agent.call, stranger.dns, "DNS by a server");
      await reaches(stranger.call, platform.web, "a pod that no policy is for");

      expect(await intruder.call(agent.at)).toBe("nothing");
      expect(await agent.call(intruder.at)).toBe("nothing");
      expect(await stranger.call(agent.at)).toBe("nothing");
      // Private addresses are not the internet.
      expect(await agent.call(stranger.web)).toBe("nothing");

      // It is the policy that holds them off, and nothing else.
      const policies = `/apis/networking.k8s.io/v1/namespaces/${site.space.name}/networkpolicies`;
      expect(await site.space.api.remove(`${policies}/treadle-agent-treadle`)).toBeTruthy();
      await reaches(intruder.call, agent.at, "a server without the policy");
      await reaches(stranger.call, agent.at, "a server without the policy");
    });
  },
);
