import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "tar";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { freePort } from "../support/components/free-port.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, revisionDone } from "../support/deployments.ts";
import { ListenerSite } from "../support/listener-site.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** A listener in another place: it has neither the platform's data folder nor its database, only the API. */
let site: ListenerSite;
let network: TcpProxy;
let folder: TempFolder;
let listenerId: string;
beforeAll(async () => {
  [site, folder] = await Promise.all([ListenerSite.prepare(), createTempFolder("listener-upload")]);
  network = await startTcpProxy({ target: site.url });
  const made = await site.call<{ id: string }>("POST", "/v2/listeners", {
    ...{ compute_type: "process", compute_id: "uploads", compute_config: {} },
  });
  listenerId = made.body.id;
  const { body } = await site.call<{ key: string }>("POST", "/v2/api-keys", {
    ...{ name: "uploads", service: true, scopes: ["listener"] },
  });
  await site.startListener({
    ...{ id: listenerId, key: body.key, port: await freePort() },
    platformUrl: `http://127.0.0.1:${network.port}`,
  });
});
afterAll(async () => {
  await site?.stop();
  await network?.stop();
  await folder?.remove();
});

async function upload(deploymentId: string, answer: string): Promise<string> {
  const source = join(folder.path, answer);
  await mkdir(source);
  const files = quickProject(answer) as Record<string, string>;
  for (const [name, text] of Object.entries(files)) await writeFile(join(source, name), text);
  const file = `${source}.tar.gz`;
  await create({ gzip: true, file, cwd: source }, Object.keys(files));
  const { body } = await site.call<{ upload_url: string; object_path: string }>(
    "POST",
    `/v2/deployments/${deploymentId}/upload-url`,
  );
  const put = await fetch(body.upload_url, { method: "PUT", body: await readFile(file) });
  expect(put.status).toBe(200);
  return body.object_path;
}

test("an uploaded source is built and served at a listener, and also while connections are cut", async () => {
  const made = await site.call<DeploymentBody>("POST", "/v2/deployments", {
    ...{ name: "uploaded", source: "internal_source", source_revision_config: {}, secrets: [] },
    source_config: { install_command: quickInstall, listener_id: listenerId },
  });
  expect(made.status).toBe(201);
  const { id } = made.body;
  const change = async (answer: string, meanwhile: () => Promise<void> = async () => {}) => {
    const source_tarball_path = await upload(id, answer);
    const patched = await site.call<DeploymentBody>("PATCH", `/v2/deployments/${id}`, {
      source_revision_config: { source_tarball_path },
    });
    expect(patched.status).toBe(200);
    await meanwhile();
    const done = await revisionDone(site.calls, id, patched.body.latest_revision_id!);
    expect([done.status, done.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    const { body } = await site.call<DeploymentBody>("GET", `/v2/deployments/${id}`);
    await waitUntil(
      async () => {
        const response = await fetch(`${body.url}/version`, { headers: site.headers });
        return response.ok && ((await response.json()) as { answer: string }).answer === answer;
      },
      { what: `the answer ${answer}`, timeoutMs: 60_000 },
    );
  };
  await change("first");
  // Everything on its way is lost, whatever the listener was reading.
  await change("second", async () => network.cut());
});
