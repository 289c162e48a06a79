import type { IncomingMessage } from "node:http";
import { AppError } from "../platform/errors.ts";
import { statusOf } from "../platform/http/error-response.ts";
import type { BeginRaw } from "../platform/http/pipeline/raw-exchange.ts";
import type { OnRequest, OnUpgrade } from "../platform/http/server/server.ts";
import { type RolePlan, type RouteGroup, rolesServing, routeGroupOf } from "./roles.ts";

/** The error for a route that other processes serve; null if this process serves it, or no process does. */
export function elsewhere(plan: RolePlan): ((method: string, path: string) => AppError | null) | undefined {
  if (plan.isWhole && plan.serves("example_chat")) return undefined;
  return (method, path) => {
    // A HEAD request belongs to the route of its GET.
    const group = routeGroupOf(method === "HEAD" ? "GET" : method, path);
    return group === "system" || plan.serves(group) ? null : misdirected(plan, group);
  };
}

export function misdirected(plan: RolePlan, group: RouteGroup): AppError {
  if (group === "example_chat" && plan.serves("platform")) return exampleChatOff();
  const servants = rolesServing(group);
  return new AppError({
    code: "request.other_role",
    kind: "misdirected",
    message: `This process has the ${rolesText(plan)}. Requests like this one are answered by a process with the role ${servants.join(" or ")}. Send them to the public address of the installation, or check where the balancer sends them.`,
  });
}

function rolesText({ names }: RolePlan): string {
  return `${names.length === 1 ? "role" : "roles"} ${names.join(", ")}`;
}

function exampleChatOff(): AppError {
  return new AppError({
    code: "request.example_chat_off",
    kind: "not_found",
    message:
      "The example chat is off: it keeps conversations in the memory of one process. Use /chat, which keeps them in the database. If only one process has the role api, TREADLE_EXAMPLE_CHAT=on serves the example there.",
  });
}

/** Requests for deployments where no gateway is: their hosts must never show the platform's own pages. */
export function refuseRequests(
  isMeant: (incoming: IncomingMessage) => boolean,
  begin: BeginRaw,
  route: string,
  error: () => AppError,
): OnRequest {
  return (incoming, outgoing) => {
    if (!isMeant(incoming)) return null;
    void begin(incoming, outgoing).fail(error());
    return route;
  };
}

export function refuseUpgrades(error: () => AppError): OnUpgrade {
  return (_request, socket) => {
    const { kind, message } = error();
    const body = JSON.stringify({ detail: message });
    socket.end(
      `HTTP/1.1 ${statusOf(kind)} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  };
}
