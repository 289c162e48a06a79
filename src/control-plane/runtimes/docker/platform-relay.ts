import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { pipeline } from "node:stream";

/** The areas that always ask for a credential. What is open to everybody on loopback is not open to deployed code. */
const served = ["/api/v1/", "/v1/", "/v2/", "/api-host/"];
const notServed = "Deployed code can only call /api/v1, /v1 and /v2 of the platform here.";
const perConnection = new Set([
  ..."connection keep-alive proxy-connection proxy-authorization te trailer transfer-encoding upgrade".split(
    " ",
  ),
  // These identify the caller and its origin; only the platform's own gateway may set them.
  ..."host cookie forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-real-ip origin".split(" "),
]);

/** Passes requests of deployed code on to the platform's API, as new HTTP requests. */
export function createPlatformRelay(platform: URL): Server {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const server = createServer((incoming, outgoing) => pass(incoming, outgoing, platform, agent));
  server.on("close", () => agent.destroy());
  return server;
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, platform: URL, agent: Agent): void {
  const path = incoming.url ?? "";
  if (!isServed(path)) {
    refuse(outgoing, 404, notServed);
    return;
  }
  const onward = request({
    ...{ host: platform.hostname, port: platform.port, method: incoming.method, path, agent },
    headers: { ...kept(incoming.headers), host: platform.host },
  });
  onward.once("error", () => {
    if (outgoing.headersSent) outgoing.destroy();
    else refuse(outgoing, 502, "The platform does not respond. Try again in a moment.");
  });
  onward.once("response", (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, kept(answer.headers));
    pipeline(answer, outgoing, (error) => error && outgoing.destroy());
  });
  outgoing.once("close", () => onward.destroy());
  pipeline(incoming, onward, (error) => error && onward.destroy());
}

/** A path that means another one after its dots are resolved is not looked at further. */
export function isServed(path: string): boolean {
  if (!path.startsWith("/") || /[\\\s]/.test(path)) return false;
  let meant: URL;
  try {
    meant = new URL(path, "http://platform");
  } catch {
    return false;
  }
  const [plain = ""] = path.split(/[?#]/, 1);
  return (
    meant.host === "platform" && meant.pathname === plain && served.some((prefix) => plain.startsWith(prefix))
  );
}

function kept(headers: IncomingMessage["headers"]) {
  const named = new Set(
    String(headers.connection ?? "")
      .toLowerCase()
      .split(/[\s,]+/),
  );
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !perConnection.has(name) && (name === "content-length" || !named.has(name)),
    ),
  );
}

function refuse(outgoing: ServerResponse, status: number, detail: string): void {
  outgoing.writeHead(status, { "content-type": "application/json", connection: "close" });
  outgoing.end(JSON.stringify({ detail }));
}
