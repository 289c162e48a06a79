import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../platform/errors.ts";
import { isLoopbackOrigin } from "../../platform/http/access/loopback.ts";
import { instanceSecretHeader } from "../runtimes/instance-secret.ts";
import {
  callerHeader,
  callerHeaders,
  connectionNames,
  credentialHeaders,
  hopByHop,
  isDecidedHere,
  keyWord,
  mayConnectionName,
  operatorWord,
  plainName,
} from "./header-rules.ts";
import { withoutPlatformCookies } from "./platform-cookies.ts";

export type ForwardFacts = {
  port: number;
  secret: string | null;
  host: string;
  protocol: string;
  prefix: string;
  remote: string;
};

export type CallerFacts = {
  usesOwnAuth: boolean;
  /** Holds a credential of the deployment's workspace, and asks to be let in as its operator. */
  operator: boolean;
  /** Brought a key, of the platform or of the project. */
  keyed: boolean;
  /** Which of the credential headers hold the platform's; the others are the project's own. */
  platformCredentials: ReadonlySet<string>;
};

/** The platform authenticates for these projects, so all credential headers are meant for the platform. */
export const allCredentials: CallerFacts["platformCredentials"] = credentialHeaders;

/** What goes to the server behind: names in lower case and values, one after the other; nothing about framing. */
export function requestHeaders(
  incoming: IncomingHttpHeaders,
  facts: ForwardFacts,
  caller: CallerFacts,
): string[] {
  const named = refuseConnection(incoming.connection);
  const headers: string[] = [];
  for (const name in incoming) {
    const value = incoming[name];
    const plain = plainName(name);
    if (value === undefined || hopByHop.has(plain) || named.includes(name)) continue;
    if (isDecidedHere(plain)) continue;
    if (callerHeaders.has(plain) && !caller.operator) continue;
    if (caller.platformCredentials.has(plain)) continue;
    if (plain === "cookie") {
      const cookies = withoutPlatformCookies(String(value));
      if (cookies !== "") headers.push("cookie", cookies);
    } else if (Array.isArray(value)) for (const item of value) headers.push(name, item);
    else headers.push(name, value);
  }
  headers.push("host", `127.0.0.1:${facts.port}`);
  headers.push("x-forwarded-for", facts.remote);
  headers.push("x-forwarded-host", facts.host);
  headers.push("x-forwarded-proto", facts.protocol);
  if (facts.prefix !== "") headers.push("x-forwarded-prefix", facts.prefix);
  if (incoming.origin !== undefined) {
    const passed = caller.usesOwnAuth || isLoopbackOrigin(incoming.origin);
    headers.push(passed ? "origin" : "x-forwarded-origin", incoming.origin);
  }
  if (facts.secret !== null) headers.push(instanceSecretHeader, facts.secret);
  if (caller.operator) headers.push(callerHeader, operatorWord);
  else if (caller.keyed) headers.push(callerHeader, keyWord);
  return headers;
}

/**
 * A client that lists framing, host, credential or forwarded headers in `Connection` wants them to be removed on the
 * way: what follows would then be read as another request, or as another caller's.
 */
function refuseConnection(connection: string | undefined): string[] {
  const names = connectionNames(connection);
  const wrong = names.find((name) => !mayConnectionName(name));
  if (wrong === undefined) return names;
  throw new AppError({
    code: "gateway.connection_refused",
    kind: "invalid",
    message: `The Connection header must not name ${wrong.slice(0, 40)}, which belongs to the request. Leave it out.`,
    headers: { connection: "close" },
  });
}
