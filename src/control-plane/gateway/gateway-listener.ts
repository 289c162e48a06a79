import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../platform/errors.ts";
import type { AuditSink } from "../../platform/http/audit/audit.ts";
import { statusOf } from "../../platform/http/error-response.ts";
import type { BeginRaw, RawExchange } from "../../platform/http/pipeline/raw-exchange.ts";
import type { OnRequest } from "../../platform/http/server/server.ts";
import { refererPolicy } from "../pages/page-request.ts";
import type { DeploymentOrigins } from "./deployment-origins.ts";
import {
  type AdmissionOptions,
  type AdmissionRequest,
  admit,
  admitToServer,
  pathRefused,
  type ServedAdmission,
} from "./gateway-access.ts";
import { answerEntry, sendToConsole, visitOf, type Wire } from "./gateway-pages.ts";
import { type GatewayPath, parseGatewayPath } from "./gateway-path.ts";
import type { RequestProxy } from "./proxy.ts";
import { framingOf, RequestBody } from "./request-body.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";
import { untilReached } from "./until-reached.ts";

export type GatewayOptions = AdmissionOptions & {
  proxy: RequestProxy;
  origins: DeploymentOrigins;
  /** Counts what was answered. */
  onServed(deploymentId: string, status: number, ms: number, isProbe: boolean): void;
  /** Records refused attempts to enter pages. */
  audit?: Pick<AuditSink, "noteRefusal"> | undefined;
};

export const gatewayRoute = "/d/{slug}/{rest*}";
export const maxBodyBytes = 25 * 1024 * 1024;
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

type ListenerOptions = GatewayOptions & { begin: BeginRaw };

/**
 * `/d/{slug}/…`, and hosts of deployments, at the level of node:http. A gateway would spend most of its time on turning
 * requests into objects that are not read, and a path must be interpreted before it is normalised.
 */
export function createGatewayListener(options: ListenerOptions): OnRequest {
  return (incoming, outgoing, next) => {
    const hostSlug = options.origins.slugOf(incoming.headers.host);
    const way = parseGatewayPath(incoming.url, hostSlug);
    if (way === null) return null;
    const method = incoming.method ?? "GET";
    // The routes answer other methods, but not on the host of a deployment.
    if (way !== "refused" && way.prefix !== "" && method !== "OPTIONS" && !methods.has(method)) return null;
    const exchange = options.begin(incoming, outgoing);
    const work =
      way === "refused"
        ? Promise.reject(pathRefused())
        : method === "OPTIONS"
          ? answerOptions(incoming, outgoing, way, exchange, options, next)
          : serve(incoming, outgoing, way, exchange, options);
    work.catch((error: unknown) => exchange.fail(error));
    return gatewayRoute;
  };
}

/** A project with its own authentication answers a browser's questions itself; for the others the platform does. */
async function answerOptions(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  way: GatewayPath,
  exchange: RawExchange,
  options: ListenerOptions,
  next: () => void,
): Promise<void> {
  const target = await options.targets.find(way.slug).catch(() => null);
  if (target?.usesOwnAuth) return serve(incoming, outgoing, way, exchange, options);
  if (way.prefix !== "" || incoming.headers["access-control-request-method"] !== undefined) return next();
  exchange.begin(204, ["allow", [...methods, "OPTIONS"].join(", ")]);
  outgoing.end();
}

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  way: GatewayPath,
  exchange: RawExchange,
  options: GatewayOptions,
): Promise<void> {
  const method = incoming.method ?? "GET";
  if (!methods.has(method) && method !== "OPTIONS") throw methodRefused(method);
  if (way.prefix !== "") refuseServiceWorker(incoming);
  const framing = framingOf(incoming);
  const ownOrigin = way.prefix === "" ? options.origins.originAt(incoming.headers.host, way.slug) : null;
  const visit = visitOf(incoming, way, ownOrigin, options);
  const wire: Wire = { incoming, outgoing, exchange };
  if (visit !== null && (await answerEntry(visit, way.path, wire, options))) return;
  const { headers } = incoming;
  const { remoteAddress: peer } = incoming.socket;
  const asked = { slug: way.slug, method, path: way.path, headers, ownOrigin, peer, client: outgoing };
  let admission: ServedAdmission;
  try {
    if (isProbe(method, way) && (await answerProbe(asked, wire, options))) return;
    admission = await admitToServer(asked, options);
  } catch (error) {
    return sendToConsole(visit, error, wire, options);
  }
  const passage = { way, body: new RequestBody(incoming, framing, maxBodyBytes), answered: 503 };
  const startedMs = performance.now();
  try {
    await untilReached(asked, admission, options, (to) => pass(wire, passage, to, options));
  } catch (error) {
    if (error instanceof AppError) passage.answered = statusOf(error.kind);
    throw error;
  } finally {
    passage.body.stop();
    const ms = performance.now() - startedMs;
    options.onServed(admission.target.deploymentId, passage.answered, ms, isProbe(method, way));
  }
}

/** Only asks whether the server answers, as monitors do again and again; that must not keep it awake. */
function isProbe(method: string, { target }: GatewayPath): boolean {
  return target === "/ok" && (method === "GET" || method === "HEAD");
}

/** A sleeping deployment takes requests, so it is healthy. A request to any other path wakes it. */
async function answerProbe(asked: AdmissionRequest, wire: Wire, options: GatewayOptions): Promise<boolean> {
  if ((await options.targets.find(asked.slug))?.rests !== "asleep") return false;
  const { target, usesOwnAuth } = await admit(asked, options);
  const body = '{"ok":true}';
  const headers = [
    "content-type",
    "application/json",
    "content-length",
    String(body.length),
    "x-treadle-state",
    "asleep",
  ];
  wire.exchange.begin(200, headers, { ownCors: usesOwnAuth, ownOrigin: asked.ownOrigin !== null });
  wire.outgoing.end(asked.method === "HEAD" ? undefined : body);
  options.onServed(target.deploymentId, 200, 0, true);
  return true;
}

type Passage = { way: GatewayPath; body: RequestBody; answered: number };

/** Answers through the server of this admission. Nothing may be awaited between the admission and this. */
function pass(
  { incoming, outgoing, exchange }: Wire,
  passage: Passage,
  admission: ServedAdmission,
  { proxy, origins, pages }: GatewayOptions,
): Promise<void> {
  const { instance: server } = admission.target;
  const { way, body } = passage;
  const { port, secret } = server;
  const { prefix } = way;
  const ownCors = admission.usesOwnAuth;
  const isEntered = pages !== undefined && prefix === "" && !ownCors;
  const place = { prefix, port, ownCors, refererPolicy: isEntered ? refererPolicy : undefined };
  const facts = {
    port,
    secret,
    prefix,
    host: incoming.headers.host ?? "127.0.0.1",
    protocol: origins.protocolOf(incoming.headers.host, prefix),
    remote: incoming.socket.remoteAddress ?? "127.0.0.1",
  };
  return proxy.forward({
    server,
    method: incoming.method ?? "GET",
    path: way.target,
    headers: requestHeaders(incoming.headers, facts, admission),
    body,
    outgoing,
    onHead(status, given) {
      exchange.begin(status, responseHeaders(given, place), {
        ownCors,
        ownOrigin: prefix === "",
      });
      passage.answered = status;
    },
  });
}

/** One registered here would sit at the platform's origin, between the platform and its people. */
function refuseServiceWorker({ headers }: IncomingMessage): void {
  if (headers["service-worker"] === undefined) return;
  throw new AppError({
    code: "gateway.service_worker_refused",
    kind: "forbidden",
    message:
      "A service worker cannot be registered under /d, because that is the platform's own origin. Use the page_url of the deployment.",
  });
}

function methodRefused(method: string): AppError {
  const allowed = [...methods, "OPTIONS"].join(", ");
  return new AppError({
    code: "request.method_not_allowed",
    kind: "method_not_allowed",
    message: `A deployment does not accept ${method.slice(0, 20)}. It accepts ${allowed}.`,
    headers: { allow: allowed },
  });
}
