import { connect } from "node:net";
import { endpointsOf } from "../../src/control-plane/endpoints/endpoint.ts";
import { DeploymentOrigins } from "../../src/control-plane/gateway/deployment-origins.ts";
import { type EndpointWay, EndpointWays } from "../../src/control-plane/gateway/endpoint-ways.ts";
import {
  createGatewayListener,
  type GatewayOptions,
  gatewayRoute,
} from "../../src/control-plane/gateway/gateway-listener.ts";
import { createGatewayUpgrade, isForGateway } from "../../src/control-plane/gateway/gateway-upgrade.ts";
import { HeldRequests } from "../../src/control-plane/gateway/held-requests.ts";
import { type ProxyRequest, RequestProxy } from "../../src/control-plane/gateway/proxy.ts";
import { readyEndpoints } from "../../src/control-plane/gateway/target.ts";
import { createHttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import { listen } from "../../src/platform/http/server/server.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";
import { caller } from "./http-app-fixture.ts";

class NotingWays extends EndpointWays {
  readonly #avoided: string[];

  constructor(avoided: string[]) {
    super();
    this.#avoided = avoided;
  }

  override avoid(way: EndpointWay): void {
    this.#avoided.push(way.endpoint.name);
    super.avoid(way);
  }
}

class NotingProxy extends RequestProxy {
  readonly #forwarded: string[];

  constructor(forwarded: string[], ways: EndpointWays) {
    super(ways);
    this.#forwarded = forwarded;
  }

  override forward(request: ProxyRequest): Promise<void> {
    this.#forwarded.push(`${request.method} ${request.path}`);
    return super.forward(request);
  }
}

/** The gateway as the platform listens with it, before one server with these ports: for what is on the wire, and not for who may enter. */
export async function startRawGateway(...ports: [number, ...number[]]) {
  const logger = createLogger({ level: "silent" });
  const served: { status: number }[] = [];
  /** What it passed on, by its path. */
  const forwarded: string[] = [];
  /** Ports that took no request, each time. */
  const avoided: string[] = [];
  const http = createHttpApp({
    routes: [],
    authenticator: {
      authenticate: async () => null,
      loopbackCaller: async () => ({ ...caller("admin"), via: "loopback" }),
    },
    agentAuthRequired: false,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: false,
  });
  const proxy = new NotingProxy(forwarded, new NotingWays(avoided));
  const endpoints = ports.flatMap((port) =>
    endpointsOf([], port).map((each) => ({ ...each, name: `${port}` })),
  );
  const target = {
    deploymentId: "d",
    workspaceId: "w",
    usesOwnAuth: false,
    instance: {
      ...{ id: "i", port: ports[0], secret: "only-the-gateway-says-this" },
      endpoints: readyEndpoints("i", endpoints),
    },
    reason: "",
    rests: "no" as const,
  };
  const options: GatewayOptions = {
    targets: {
      find: async () => target,
      isCurrent: () => true,
      forget: () => {},
    } as unknown as GatewayOptions["targets"],
    held: new HeldRequests({ find: async () => null, wake: async () => {} }),
    proxy,
    origins: new DeploymentOrigins({ pattern: () => null, platformUrl: () => "http://127.0.0.1" }),
    authorize: http.authorize,
    isPlatformCredential: async () => false,
    onServed: (_id, status) => served.push({ status }),
  };
  const own = createGatewayUpgrade({ ...options, logger });
  const server = await listen(http, {
    ...{ host: "127.0.0.1", port: 0, logger },
    onRequest: createGatewayListener({ ...options, begin: http.raw(gatewayRoute) }),
    onUpgrade: (request, socket, ...rest) =>
      isForGateway(request, options.origins) ? own(request, socket, ...rest) : socket.destroy(),
  });
  return {
    port: server.port,
    served,
    forwarded,
    avoided,
    inFlight: () => proxy.ways.inFlight("i"),
    async close() {
      await server.close({ graceMs: 0 });
      proxy.close();
    },
  };
}

export type RawGateway = Awaited<ReturnType<typeof startRawGateway>>;

/** Sends bytes as they are and reads until the other side closes, or until `enough` is true. */
export function exchangeRaw(
  port: number,
  bytes: string | Buffer,
  enough: (answer: string) => boolean = () => false,
  timeoutMs = 5_000,
): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect({ host: "127.0.0.1", port });
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.setEncoding("latin1");
    socket.on("connect", () =>
      socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes),
    );
    socket.on("data", (text: string) => {
      answer += text;
      if (enough(answer)) socket.destroy();
    });
    // A reset is one way to refuse.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

/** Whether a whole answer with a length is there. */
export function isWhole(answer: string): boolean {
  const end = answer.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer.slice(0, end))?.[1];
  return length !== undefined && answer.length >= end + 4 + Number(length);
}
