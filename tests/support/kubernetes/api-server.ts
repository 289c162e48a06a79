import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll } from "vitest";
import { KubernetesApi } from "../../../src/control-plane/runtimes/kubernetes/api.ts";
import { createTempFolder } from "../components/temp-folder.ts";
import { makeKeys } from "./cluster-keys.ts";

export type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: unknown;
};
export type Handler = (asked: Asked, response: ServerResponse) => void;

/** Speaks TLS as an API server does and says what a test wants it to say; asks clients for a certificate. */
export async function startApiServer() {
  const folder = await createTempFolder("api-server");
  await makeKeys(folder.path, "127.0.0.1");
  const read = (name: string) => readFile(join(folder.path, name));
  const keys = {
    ...{
      authority: await read("ca.crt"),
      certificate: await read("admin.crt"),
      key: await read("admin.key"),
    },
  };
  let handler: Handler = (_asked, response) => response.writeHead(500).end();
  const asked: Asked[] = [];
  const server = createServer(
    {
      ...{ ca: keys.authority, cert: await read("server.crt"), key: await read("server.key") },
      ...{ requestCert: true, rejectUnauthorized: true },
    },
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString("utf8");
      const url = new URL(request.url ?? "/", "https://server");
      const one = {
        ...{ method: request.method ?? "", path: url.pathname, query: url.searchParams },
        ...{ headers: request.headers, body: text === "" ? undefined : (JSON.parse(text) as unknown) },
      };
      asked.push(one);
      handler(one, response);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...{ keys, folder: folder.path, asked },
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(next: Handler) {
      asked.length = 0;
      handler = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await folder.remove();
    },
  };
}

export type ApiServer = Awaited<ReturnType<typeof startApiServer>>;

/** For the tests of one file: such a server and the platform's client of it, closed when they are done. */
export async function openApiServer({
  namespace = "agents",
  token,
}: {
  namespace?: string;
  token?: string;
} = {}) {
  const server = await startApiServer();
  const given = token === undefined ? {} : { token: async () => token };
  const api = new KubernetesApi({ server: server.url, namespace, ...server.keys, ...given });
  afterAll(async () => {
    api.close();
    await server.stop();
  });
  return { server, api };
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
