import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { statusOf } from "../../platform/http/error-response.ts";
import type { Authorize } from "../../platform/http/pipeline/authorize.ts";
import type { OnUpgrade } from "../../platform/http/server/server.ts";
import { isUuid } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import type { EventReader } from "./event-reader.ts";
import { ProtocolConnection } from "./protocol-connection.ts";
import type { ProtocolService } from "./protocol-service.ts";
import type { CallerOf } from "./run-commands.ts";
import { SocketLine } from "./socket-line.ts";
import type { ThreadAccess } from "./thread-access.ts";

export type ProtocolSocketsOptions = {
  database: Database;
  logger: Logger;
  service: ProtocolService;
  reader: EventReader;
  access: ThreadAccess;
  callerOf: CallerOf;
  /** A project's own authorization; the caller it returns carries the filter for rows. */
  admit?(caller: Caller, threadId: string): Promise<Caller>;
};

const path = /^\/threads\/([^/]+)\/stream(?:\/events)?$/;
/** The same limit as for a request's body. */
const maxMessageBytes = 25 * 1024 * 1024;

/** Takes over connections to `/threads/{id}/stream` and `/threads/{id}/stream/events`; others get a 404. */
export function createProtocolSockets(options: ProtocolSocketsOptions): (authorize: Authorize) => OnUpgrade {
  const server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, clientTracking: false });
  return (authorize) => (request, socket, head, shutdown) => {
    admit(request, authorize, options).then(
      ({ caller, threadId, headers }) => {
        server.handleUpgrade(request, socket, head, (webSocket) =>
          serve(webSocket, { caller, threadId, headers, shutdown }, options),
        );
      },
      (error: unknown) => refuse(socket, error, options.logger),
    );
  };
}

type Admitted = { caller: Caller; threadId: string; headers: Headers };

async function admit(
  request: IncomingMessage,
  authorize: Authorize,
  { access, admit: permit }: ProtocolSocketsOptions,
): Promise<Admitted> {
  const pathname = (request.url ?? "/").split("?", 1)[0]!;
  const found = path.exec(pathname)?.[1];
  if (found === undefined) {
    throw new AppError({
      code: "request.unknown_path",
      kind: "not_found",
      message:
        "There is no WebSocket at this path. WebSockets are at /threads/{id}/stream; a project's own application is served only over HTTP.",
    });
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const host = request.headers.host ?? "";
  const asked = new Request(`http://${host || "localhost"}${request.url ?? "/"}`, { headers });
  const caller = await authorize(
    { kind: "agent", role: "viewer", scope: ["read", "runs"] },
    headers,
    host,
    asked,
    request.socket.remoteAddress,
  );
  const threadId = found.toLowerCase();
  if (!caller || !isUuid(threadId)) {
    throw new AppError({
      code: "request.invalid",
      kind: "unprocessable",
      message: "The thread id in the path is not a UUID.",
    });
  }
  const permitted = permit ? await permit(caller, threadId) : caller;
  await access.find(permitted, threadId);
  return { caller: permitted, threadId, headers };
}

function serve(
  webSocket: WebSocket,
  { caller, threadId, headers, shutdown }: Admitted & { shutdown: AbortSignal },
  { database, service, reader, access, callerOf, logger }: ProtocolSocketsOptions,
): void {
  const line = new SocketLine(webSocket, { shutdown, logger, receive: (text) => connection.receive(text) });
  const connection = new ProtocolConnection({
    database,
    service,
    reader,
    access,
    context: { ...callerOf(caller, headers), threadId },
    send: (text) => line.send(text),
    signal: line.signal,
    close: () => webSocket.close(1011, "The events could not be read."),
  });
}

function refuse(socket: Duplex, error: unknown, logger: Logger): void {
  const known = error instanceof AppError ? error : undefined;
  if (!known) logger.error({ err: error }, "a WebSocket could not be opened");
  const status = known ? statusOf(known.kind) : 500;
  const body = JSON.stringify({ detail: known?.message ?? "Internal error." });
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
