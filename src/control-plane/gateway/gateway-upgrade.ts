import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { statusOf } from "../../platform/http/error-response.ts";
import type { OnUpgrade } from "../../platform/http/server.ts";
import type { Logger } from "../../platform/logger.ts";
import { requestHeaders } from "./forward-headers.ts";
import { admit, notServing } from "./gateway-access.ts";
import { type GatewayOptions, toHeaders } from "./gateway-listener.ts";

const pattern = /^\/d\/([^/?]+)(\/[^?]*)?(\?.*)?$/;

/** Whether this connection is for a deployment; others belong to somebody else. */
export function isGatewayPath(url: string | undefined): boolean {
  return pattern.test(url ?? "");
}

/** Hands a WebSocket over to the deployed server: from then on bytes pass untouched both ways. */
export function createGatewayUpgrade(options: GatewayOptions & { logger: Logger }): OnUpgrade {
  return (request, socket, head, shutdown) => {
    connect(request, socket, head, shutdown, options).catch((error: unknown) => {
      const known = error instanceof AppError;
      if (!known) options.logger.error({ err: error }, "a WebSocket could not be passed on");
      refuse(socket, known ? statusOf(error.kind) : 500, known ? error.message : "Internal error.");
    });
  };
}

async function connect(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  shutdown: AbortSignal,
  options: GatewayOptions & { logger: Logger },
): Promise<void> {
  const [, slug = "", path = "/", query = ""] = pattern.exec(request.url ?? "") ?? [];
  const host = request.headers.host ?? "127.0.0.1";
  const target = await admit(
    {
      slug,
      method: "POST",
      path,
      headers: () => toHeaders(request.headers),
      urlHost: host,
      peer: request.socket.remoteAddress,
    },
    options.targets,
    options.authorize,
  );
  if (!target.instance) throw notServing(target);
  const { instance } = target;
  const done = options.proxy.begin(instance.id);
  const facts = {
    port: instance.port,
    host,
    protocol: "http",
    prefix: `/d/${slug}`,
    remote: request.socket.remoteAddress ?? "127.0.0.1",
  };
  const outgoing = httpRequest({
    host: "127.0.0.1",
    port: instance.port,
    path: `${path}${query}`,
    headers: requestHeaders(request.headers, facts, { usesOwnAuth: target.usesOwnAuth, upgrade: true }),
    agent: false,
  });
  const end = () => {
    done();
    outgoing.destroy();
    socket.destroy();
  };
  shutdown.addEventListener("abort", end, { once: true });
  socket.once("close", end);
  outgoing.once("close", () => shutdown.removeEventListener("abort", end));
  outgoing.once("error", (error) => {
    options.logger.debug({ reason: errorMessage(error) }, "a WebSocket to a deployed server failed");
    if (socket.writable)
      refuse(socket, 503, "The deployed server does not answer. Connect again in a moment.");
    done();
  });
  outgoing.once("response", (response) => {
    // It does not want to: the refusal is passed on as it is.
    socket.write(
      `HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\n${lines(response)}Connection: close\r\n\r\n`,
    );
    response.pipe(socket);
    response.once("close", done);
  });
  outgoing.once("upgrade", (response, far, farHead) => {
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines(response)}\r\n`);
    if (farHead.length > 0) socket.write(farHead);
    if (head.length > 0) far.write(head);
    far.on("error", end);
    far.once("close", () => socket.destroy());
    far.pipe(socket);
    socket.pipe(far);
  });
  outgoing.end();
}

function lines(response: IncomingMessage): string {
  const { rawHeaders } = response;
  let text = "";
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (response.statusCode !== 101 && /^(connection|transfer-encoding|keep-alive)$/i.test(name)) continue;
    text += `${name}: ${rawHeaders[i + 1]}\r\n`;
  }
  return text;
}

function refuse(socket: Duplex, status: number, detail: string): void {
  const body = JSON.stringify({ detail });
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
