import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { KubernetesApi } from "../../../src/control-plane/runtimes/kubernetes/api.ts";
import { watchObjects } from "../../../src/control-plane/runtimes/kubernetes/watch.ts";
import type { TestNamespace } from "./cluster-client.ts";

type Path = {
  path: string;
  pathType: "Exact" | "Prefix";
  backend: { service: { name: string; port: { name: string } } };
};
type Ingress = { spec: { rules: { http: { paths: Path[] } }[] } };
type Slice = {
  ports: { name: string; port: number }[];
  endpoints: { addresses: string[]; conditions: { ready: boolean } }[];
};

const serviceLabel = "kubernetes.io/service-name";

export interface IngressProxy {
  url: string;
  /** How many requests went to each Service. */
  readonly sent: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/**
 * What an ingress controller does: sends each request where the namespace's Ingress says, to a pod that is ready, on connections that
 * it keeps. A request is sent once, so what a pod refuses or breaks off is seen. Hosts are not compared: tests ask by address.
 */
export async function startIngressProxy(
  { api, name }: Pick<TestNamespace, "api" | "name">,
  host: string,
): Promise<IngressProxy> {
  const stop = new AbortController();
  const ingresses = keepPicture<Ingress>(
    api,
    `/apis/networking.k8s.io/v1/namespaces/${name}/ingresses`,
    "app.kubernetes.io/managed-by=Helm",
    stop.signal,
  );
  const slices = keepPicture<Slice>(
    api,
    `/apis/discovery.k8s.io/v1/namespaces/${name}/endpointslices`,
    serviceLabel,
    stop.signal,
  );
  const sent = new Map<string, number>();
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let turn = 0;

  function choose(path: string): { service: string; address: string; port: number } | null {
    const paths = [...ingresses.values()].flatMap(({ spec }) => spec.rules.flatMap(({ http }) => http.paths));
    const [best] = paths.filter((each) => fits(each, path)).sort((a, b) => rank(b) - rank(a));
    if (!best) return null;
    const { name: service, port } = best.backend.service;
    const ready = [...slices.values()]
      .filter(({ metadata }) => metadata.labels?.[serviceLabel] === service)
      .flatMap(({ endpoints, ports }) =>
        endpoints
          .filter(({ conditions }) => conditions.ready)
          .map(({ addresses }) => ({
            ...{ service, address: addresses[0]! },
            port: ports.find(({ name }) => name === port.name)!.port,
          })),
      );
    turn += 1;
    return ready[turn % ready.length] ?? null;
  }

  const server = createServer((incoming, outgoing) => {
    const target = choose(new URL(incoming.url ?? "/", "http://proxy").pathname);
    if (!target) return void outgoing.writeHead(503).end("no pod is ready for this path");
    sent.set(target.service, (sent.get(target.service) ?? 0) + 1);
    passOn(incoming, outgoing, { agent, ...target });
  });
  // A connection that it closes could meet a request that is on its way.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    ...{ url: `http://${host}:${(server.address() as AddressInfo).port}`, sent },
    async stop() {
      stop.abort();
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function passOn(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { agent, address, port }: { agent: Agent; address: string; port: number },
): void {
  const { connection: _connection, ...headers } = incoming.headers;
  const upstream = request(
    { ...{ agent, host: address, port, headers }, method: incoming.method, path: incoming.url },
    (answer) => {
      const { connection: _connection, "keep-alive": _keepAlive, ...kept } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 502, kept);
      answer.on("error", () => outgoing.destroy()).pipe(outgoing);
    },
  );
  upstream.on("error", (error) => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502).end(`${address}:${port}: ${error.message}`);
  });
  outgoing.once("close", () => upstream.destroy());
  incoming.pipe(upstream);
}

const fits = ({ path, pathType }: Path, asked: string) =>
  path === asked || (pathType === "Prefix" && asked.startsWith(path.endsWith("/") ? path : `${path}/`));
/** The longest path first; of the same length the exact one. */
const rank = ({ path, pathType }: Path) => path.length * 2 + (pathType === "Exact" ? 1 : 0);

type Labelled<Item> = Item & { metadata: { name: string; labels?: Record<string, string> } };

/** The objects as the API server has them, kept up to date until the signal. */
function keepPicture<Item>(
  api: KubernetesApi,
  path: string,
  labelSelector: string,
  signal: AbortSignal,
): ReadonlyMap<string, Labelled<Item>> {
  const picture = new Map<string, Labelled<Item>>();
  void (async () => {
    const watched = { path, labelSelector, onTrouble: () => {} };
    for await (const seen of watchObjects<Item>(api, watched, signal)) {
      if (seen.kind === "all") {
        picture.clear();
        for (const object of seen.objects) picture.set(object.metadata.name, object);
      } else if (seen.kind === "removed") picture.delete(seen.object.metadata.name);
      else picture.set(seen.object.metadata.name, seen.object);
    }
  })();
  return picture;
}
