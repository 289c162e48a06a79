import { expect, test, vi } from "vitest";
import { freePort } from "../support/components/free-port.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { ListenerSite } from "../support/listener-site.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { startTlsStorage } from "../support/tls-storage.ts";

vi.setConfig({ testTimeout: 300_000 });

const app = `import { Hono } from "hono";
export const app = new Hono();
app.get("/call", async (c) => {
  const url = process.env.LANGSMITH_ENDPOINT + "/info";
  const answer = await fetch(url).then((each) => each.status, (error) => String(error.cause?.code ?? error));
  return c.json({ url, answer });
});
`;

test("servers of a listener trust the platform's private authority as the listener does", async () => {
  const site = await ListenerSite.prepare();
  const tls = await startTlsStorage(site.url);
  try {
    const { body: listener } = await site.call<{ id: string }>("POST", "/v2/listeners", {
      ...{ compute_type: "process", compute_id: "elsewhere", compute_config: {} },
    });
    const { body: made } = await site.call<{ key: string }>("POST", "/v2/api-keys", {
      ...{ name: "listener", service: true, scopes: ["listener"] },
    });
    const port = await freePort();
    await site.startListener({
      ...{ id: listener.id, key: made.key, port, platformUrl: tls.url },
      env: { NODE_EXTRA_CA_CERTS: tls.certificate },
    });
    const repository = await site.git.createRepository("calling", quickProject("calling", { "app.js": app }));
    const source_config = {
      ...{ repo_url: repository.url, install_command: quickInstall, listener_id: listener.id },
    };
    const { deployment, revision } = await deploy(
      site.calls,
      gitDeployment("calling", repository.url, { source_config }),
    );
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    const url = `http://127.0.0.1:${port}/d/${deployment.slug}/call`;
    const seen = (await (await fetch(url, { headers: site.headers })).json()) as object;
    expect(seen).toEqual({ url: expect.stringMatching(new RegExp(`^${tls.url}/`)), answer: 200 });
  } finally {
    await site.stop();
    await tls.stop();
  }
});
