import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { statusOf } from "../../platform/http/error-response.ts";
import { isRefusedForLeaving } from "../../platform/http/server/leaving.ts";
import type { OnUpgrade } from "../../platform/http/server/server.ts";
import type { Logger } from "../../platform/logger.ts";
import type { DeploymentOrigins } from "./deployment-origins.ts";
import type { EndpointWay } from "./endpoint-ways.ts";
import { admitToServer, pathRefused, type ServedAdmission } from "./gateway-access.ts";
import type { GatewayOptions } from "./gateway-listener.ts";
import { type GatewayPath, parseGatewayPath } from "./gateway-path.ts";
import { badAnswer, NotReached, unreachable } from "./proxy.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";
import { untilReached } from "./until-reached.ts";

type UpgradeOptions = GatewayOptions & { logger: Logger };
type Client = { request: IncomingMessage; socket: Duplex; head: Buffer; shutdown: AbortSignal };

/** Whether this connection is for a deployment; others are handled elsewhere. */
export function isForGateway({ url, headers }: IncomingMessage, origins: DeploymentOrigins): boolean {
  return parseGatewayPath(url, origins.slugOf(headers.host)) !== null;
}

/** Hands a WebSocket over to the deployed server: from then on bytes pass untouched both ways. */
export function createGatewayUpgrade(options: UpgradeOptions): OnUpgrade {
  return (request, socket, head, shutdown) => {
    connect({ request, socket, head, shutdown }, options).catch((error: unknown) => {
      const known = error instanceof AppError;
      if (!known) options.logger.error({ err: error }, "a WebSocket could not be passed on");
      const status = known ? statusOf(error.kind) : 500;
      refuse(socket, status, known ? error.message : "Internal error.", known ? error.headers : undefined);
    });
  };
}

async function connect(client: Client, options: UpgradeOptions): Promise<void> {
  const { request } = client;
  const { headers } = request;
  const way = parseGatewayPath(request.url, options.origins.slugOf(headers.host));
  if (way === null || way === "refused") throw pathRefused();
  refuseOtherProtocols(request);
  const { remoteAddress: peer } = request.socket;
  const ownOrigin = way.prefix === "" ? options.origins.originAt(headers.host, way.slug) : null;
  // Commands come over it later, so an upgrade never counts as a read, on any path.
  const asked = {
    slug: way.slug,
    method: "CONNECT",
    path: way.path,
    headers,
    ownOrigin,
    peer,
    client: client.socket,
  };
  const found = await admitToServer(asked, options);
  await untilReached(asked, found, options, (admission) => open(client, way, admission, options));
}

async function open(
  client: Client,
  way: GatewayPath,
  admission: ServedAdmission,
  { origins, proxy, logger }: UpgradeOptions,
): Promise<void> {
  const { request, socket } = client;
  const { headers } = request;
  const { instance: server } = admission.target;
  const facts = {
    ...server,
    host: headers.host ?? "127.0.0.1",
    protocol: origins.protocolOf(headers.host, way.prefix),
    prefix: way.prefix,
    remote: request.socket.remoteAddress ?? "127.0.0.1",
  };
  const passed = [
    ...requestHeaders(headers, facts, admission),
    "connection",
    "Upgrade",
    "upgrade",
    "websocket",
  ];
  const place = { prefix: way.prefix, port: server.port, ownCors: admission.usesOwnAuth };
  const tried = new Set<EndpointWay>();
  for (;;) {
    const connection = await proxy.ways.connect(server, tried);
    if (!connection) throw new NotReached();
    // It left while we asked.
    if (socket.destroyed) {
      connection.socket.destroy();
      connection.done();
      return;
    }
    const isTaken = await join(client, { ...connection, path: way.target, headers: passed, place }, logger);
    if (isTaken) return;
    proxy.ways.avoid(connection.way);
  }
}

type Far = {
  socket: Socket;
  way: EndpointWay;
  path: string;
  headers: string[];
  place: Parameters<typeof responseHeaders>[1];
  done(): void;
};

/**
 * When one side ends, the other is ended too, and it is counted once. False when the server is stopping and refused it
 * unseen: the client has heard nothing of that.
 */
function join({ socket, head, shutdown }: Client, far: Far, logger: Logger): Promise<boolean> {
  const { promise: isTaken, resolve } = Promise.withResolvers<boolean>();
  const outgoing = httpRequest({
    path: far.path,
    headers: far.headers as never,
    createConnection: () => far.socket,
    setHost: false,
  });
  let farSocket: Duplex | undefined;
  const letGo = () => {
    shutdown.removeEventListener("abort", end);
    socket.off("close", end);
    far.done();
    farSocket?.destroy();
    outgoing.destroy();
    far.socket.destroy();
  };
  const end = () => {
    resolve(true);
    letGo();
    socket.destroy();
  };
  shutdown.addEventListener("abort", end, { once: true });
  socket.once("close", end);
  outgoing.once("error", (error: NodeJS.ErrnoException) => {
    if (farSocket !== undefined || !socket.writable) return end();
    logger.debug({ reason: errorMessage(error) }, "a WebSocket to a deployed server failed");
    const failure = error.code?.startsWith("HPE_") ? badAnswer(error) : unreachable(error);
    refuse(socket, statusOf(failure.kind), failure.message, failure.headers);
  });
  outgoing.once("response", (response) => {
    if (isRefusedForLeaving({ status: response.statusCode, headers: response.headers })) {
      response.once("error", () => undefined);
      resolve(false);
      return letGo();
    }
    // It does not want to: the refusal is passed on.
    response.once("error", end);
    socket.write(headOf(response, far.place, ["connection", "close"]), "latin1");
    response.pipe(socket);
  });
  outgoing.once("upgrade", (response, opened, farHead) => {
    resolve(true);
    farSocket = opened;
    opened.on("error", end);
    opened.once("close", end);
    opened.on("data", () => {
      far.way.isHeard = true;
    });
    if (socket.destroyed) return end();
    socket.write(headOf(response, far.place, ["connection", "Upgrade", "upgrade", "websocket"]), "latin1");
    if (farHead.length > 0) socket.write(farHead);
    if (head.length > 0) opened.write(head);
    opened.pipe(socket);
    socket.pipe(opened);
  });
  outgoing.end();
  return isTaken;
}

function headOf(response: IncomingMessage, place: Far["place"], more: string[]): string {
  const given = response.rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
  const headers = [...responseHeaders(given, place), ...more];
  let text = `HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\n`;
  for (let index = 0; index < headers.length; index += 2)
    text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}\r\n`;
}

/** A body, or another protocol, would be bytes that were not checked. */
function refuseOtherProtocols({ method, headers }: IncomingMessage): void {
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
  if (method === "GET" && headers.upgrade?.toLowerCase() === "websocket" && !hasBody) return;
  throw new AppError({
    code: "gateway.upgrade_refused",
    kind: "invalid",
    message: "A connection can only be upgraded to websocket, by a GET without a body.",
  });
}

function refuse(
  socket: Duplex,
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify({ detail });
  const more = Object.entries(headers).filter(([name]) => name !== "connection");
  const lines = more.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${lines}Connection: close\r\n\r\n${body}`,
  );
}
