import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../platform/errors.ts";
import type { AuditSink } from "../../platform/http/audit/audit.ts";
import { statusOf } from "../../platform/http/error-response.ts";
import type { BeginRaw, RawExchange } from "../../platform/http/pipeline/raw-exchange.ts";
import type { OnRequest } from "../../platform/http/server/server.ts";
import { refererPolicy } from "../pages/page-request.ts";
import type { DeploymentOrigins } from "./deployment-origins.ts";
import { type Admission, type AdmissionOptions, admit, notServing, pathRefused } from "./gateway-access.ts";
import { answerEntry, sendToConsole, visitOf } from "./gateway-pages.ts";
import { type GatewayPath, parseGatewayPath } from "./gateway-path.ts";
import type { RequestProxy } from "./proxy.ts";
import { framingOf } from "./request-body.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";

export type GatewayOptions = AdmissionOptions & {
  proxy: RequestProxy;
  origins: DeploymentOrigins;
  /** Counts what was answered. */
  onServed(deploymentId: string, status: number, ms: number): void;
  /** Records refused attempts to enter pages. */
  audit?: Pick<AuditSink, "noteRefusal"> | undefined;
};

export const gatewayRoute = "/d/{slug}/{rest*}";
export const maxBodyBytes = 25 * 1024 * 1024;
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

type ListenerOptions = GatewayOptions & { begin: BeginRaw };

/**
 * `/d/{slug}/…`, and hosts of deployments, on the wire: most of a gateway's time is spent turning requests into
 * objects nobody looks at, and what a path means is decided before anybody normalises it.
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
  const wire = { incoming, outgoing, exchange };
  if (visit !== null && (await answerEntry(visit, way.path, wire, options))) return;
  const { headers } = incoming;
  const { remoteAddress: peer } = incoming.socket;
  let admission: Admission;
  try {
    admission = await admit({ slug: way.slug, method, path: way.path, headers, ownOrigin, peer }, options);
  } catch (error) {
    return sendToConsole(visit, error, wire, options);
  }
  await pass(incoming, outgoing, { way, admission, framing, exchange }, options);
}

type Passage = {
  way: GatewayPath;
  admission: Admission;
  framing: ReturnType<typeof framingOf>;
  exchange: RawExchange;
};

async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { way, admission, framing, exchange }: Passage,
  { proxy, origins, pages, onServed }: GatewayOptions,
): Promise<void> {
  const { instance, deploymentId } = admission.target;
  if (!instance) throw notServing(admission.target);
  const { port, secret } = instance;
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
  const startedMs = performance.now();
  let answered = 503;
  try {
    await proxy.forward({
      instance,
      method: incoming.method ?? "GET",
      path: way.target,
      headers: requestHeaders(incoming.headers, facts, admission),
      framing,
      maxBodyBytes,
      incoming,
      outgoing,
      onHead(status, given) {
        exchange.begin(status, responseHeaders(given, place), {
          ownCors,
          ownOrigin: prefix === "",
        });
        answered = status;
      },
    });
  } catch (error) {
    if (error instanceof AppError) answered = statusOf(error.kind);
    throw error;
  } finally {
    onServed(deploymentId, answered, performance.now() - startedMs);
  }
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
