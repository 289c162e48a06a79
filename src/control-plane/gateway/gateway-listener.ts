import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../platform/errors.ts";
import type { Authorize } from "../../platform/http/access.ts";
import type { BeginRaw, RawExchange } from "../../platform/http/raw-exchange.ts";
import type { OnRequest } from "../../platform/http/server.ts";
import { requestHead, requestHeaders, responseHeaders } from "./forward-headers.ts";
import { admit, notServing } from "./gateway-access.ts";
import { type GatewayPath, parseGatewayPath } from "./gateway-path.ts";
import { type RequestProxy, tooLarge } from "./proxy.ts";
import type { Target } from "./target.ts";
import type { Targets } from "./targets.ts";

export type GatewayOptions = {
  targets: Targets;
  proxy: RequestProxy;
  authorize: Authorize;
  /** Counts what was answered. */
  onServed(deploymentId: string, status: number, ms: number): void;
};

export const gatewayRoute = "/d/{slug}/{rest*}";
const maxBodyBytes = 25 * 1024 * 1024;
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

/** `/d/{slug}/…` on the wire: most of a gateway's time is spent turning requests into objects nobody looks at. */
export function createGatewayListener(options: GatewayOptions & { begin: BeginRaw }): OnRequest {
  return (incoming, outgoing, next) => {
    const way = parseGatewayPath(incoming.url);
    if (!way) return null;
    if (incoming.method === "OPTIONS") {
      void answerOptions(incoming, outgoing, way, options, next);
      return gatewayRoute;
    }
    if (!methods.has(incoming.method ?? "")) return null;
    const exchange = options.begin(incoming, outgoing);
    serve(incoming, outgoing, way, exchange, options).catch((error: unknown) => exchange.fail(error));
    return gatewayRoute;
  };
}

/** A project with its own authentication answers a browser's questions itself; for the others the platform does. */
async function answerOptions(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  way: GatewayPath,
  options: GatewayOptions & { begin: BeginRaw },
  next: () => void,
): Promise<void> {
  const target = await options.targets.find(way.slug).catch(() => null);
  if (!target?.usesOwnAuth) return next();
  const exchange = options.begin(incoming, outgoing);
  await pass(incoming, outgoing, way, target, exchange, options).catch((error: unknown) =>
    exchange.fail(error),
  );
}

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  way: GatewayPath,
  exchange: RawExchange,
  options: GatewayOptions,
): Promise<void> {
  const target = await admit(
    {
      slug: way.slug,
      method: incoming.method ?? "GET",
      path: way.path,
      headers: () => toHeaders(incoming.headers),
      urlHost: incoming.headers.host ?? "127.0.0.1",
      peer: incoming.socket.remoteAddress,
    },
    options.targets,
    options.authorize,
  );
  if (Number(incoming.headers["content-length"] ?? 0) > maxBodyBytes) throw tooLarge(maxBodyBytes);
  await pass(incoming, outgoing, way, target, exchange, options);
}

async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { prefix, target: path }: GatewayPath,
  target: Target,
  exchange: RawExchange,
  { proxy, onServed }: GatewayOptions,
): Promise<void> {
  const { instance, usesOwnAuth, deploymentId } = target;
  if (!instance) throw notServing(target);
  const method = incoming.method ?? "GET";
  const startedMs = performance.now();
  const facts = {
    port: instance.port,
    host: incoming.headers.host ?? "127.0.0.1",
    protocol: "http",
    prefix,
    remote: incoming.socket.remoteAddress ?? "127.0.0.1",
  };
  const body = bodyOf(incoming.headers);
  const headers = requestHeaders(incoming.headers, facts, { usesOwnAuth });
  if (body === "chunked") headers["transfer-encoding"] = "chunked";
  let answered = 503;
  try {
    await proxy.forward({
      instance,
      method,
      head: requestHead(method, path, headers),
      body,
      maxBodyBytes,
      incoming,
      outgoing,
      onHead(status, given) {
        answered = status;
        exchange.begin(status, responseHeaders(given, { status, prefix, ownCors: usesOwnAuth }), {
          ownCors: usesOwnAuth,
        });
      },
    });
  } catch (error) {
    if (error instanceof AppError && error.kind === "too_large") answered = 413;
    throw error;
  } finally {
    onServed(deploymentId, answered, performance.now() - startedMs);
  }
}

function bodyOf(headers: IncomingHttpHeaders): "none" | "sized" | "chunked" {
  if (headers["transfer-encoding"] !== undefined) return "chunked";
  return (headers["content-length"] ?? "0") === "0" ? "none" : "sized";
}

export function toHeaders(given: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const name in given) {
    const value = given[name];
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return headers;
}
