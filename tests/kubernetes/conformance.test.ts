import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { packTree } from "../../src/control-plane/builds/artifact-pack.ts";
import { KubernetesRuntime } from "../../src/control-plane/runtimes/kubernetes/kubernetes-runtime.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createTempFolder } from "../support/components/temp-folder.ts";
import { machineWalls } from "../support/control-plane.ts";
import { openNamespace } from "../support/kubernetes/cluster-client.ts";
import { agentImage } from "../support/kubernetes/images.ts";
import { openAsPlatform } from "../support/kubernetes/platform-account.ts";
import { startTcpRelay, type TcpRelay } from "../support/kubernetes/tcp-relay.ts";
import { runtimeSuite } from "../support/runtime-suite.ts";

const host = process.env.TREADLE_TEST_CLUSTER_HOST!;

/** Gives each pod the folder of its start. */
async function startArtifacts() {
  const folders = new Map<string, string>();
  const server = createServer((request, response) => {
    const folder = folders.get(request.url?.split("/").at(-1) ?? "");
    if (folder) Readable.from(packTree(folder), { objectMode: false }).pipe(response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const url = `http://${host}:${(server.address() as AddressInfo).port}`;
  return { url, folders, stop: () => new Promise((resolve) => server.close(resolve)) };
}

runtimeSuite("kubernetes", async () => {
  const space = await openNamespace();
  const api = await openAsPlatform(space);
  const folder = await createTempFolder("conformance");
  const artifacts = await startArtifacts();
  let databaseUrl = "";
  const relay: TcpRelay = await startTcpRelay(host, () => databaseUrl);
  return {
    create: (url) => {
      databaseUrl = url;
      return new KubernetesRuntime({
        ...{ api, namespace: space.name, installation: "test", baseImage: agentImage, folder: folder.path },
        ...{
          platformUrl: () => artifacts.url,
          platformRanges: [`${host}/32`],
          databaseUrl: relay.urlFor(url),
        },
        ...{ walls: machineWalls(), graceSeconds: 10, startSeconds: 60 },
        logger: createLogger({ level: "silent" }),
      });
    },
    remote: {
      modules: "/app/node_modules",
      databaseUrl: (url) => relay.urlFor(url),
      offer: ({ instanceId, folder: project }) => void artifacts.folders.set(instanceId, project!),
    },
    async stop() {
      await space.remove();
      api.close();
      await artifacts.stop();
      await relay.stop();
      await folder.remove();
    },
  };
});
