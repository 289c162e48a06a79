import { AppError } from "../../platform/errors.ts";
import type { Authenticator, Caller, Principal } from "../../platform/http/access/caller.ts";
import { hostnameOf, isLoopbackHostname } from "../../platform/http/access/loopback.ts";
import type { Logger } from "../../platform/logger.ts";
import { statedFailure } from "./auth-failure.ts";
import { isOperator as isNamedOperator } from "./instance-guard.ts";
import { studioPrincipal, toPrincipal } from "./principal.ts";
import type { LoadedAuth } from "./project-auth.ts";

export type ProjectAuthenticatorOptions = {
  auth: Pick<LoadedAuth, "authenticate" | "disableStudioAuth">;
  logger: Logger;
  /** Recognises the server's own credentials, which the studio brings; null when there are none. */
  own: Authenticator;
  /** Whether the server asks for its own credential at all; open ones let the studio in as it is. */
  ownRequired: boolean;
  /** A gateway stands before it; only the gateway marks requests of the studio. */
  behindGateway?: boolean;
};

/** The project's own `authenticate` in the place of the server's keys. */
export function createProjectAuthenticator(options: ProjectAuthenticatorOptions): Authenticator {
  const { auth, logger, own } = options;
  // A request that passes the custom application first is asked once.
  const known = new WeakMap<Request, Promise<Caller>>();

  async function principalOf(headers: Headers, request: Request | undefined): Promise<Principal> {
    if (!auth.disableStudioAuth && headers.get("x-auth-scheme") === "langsmith") {
      if (await isOperator(headers, request)) return studioPrincipal;
      throw refused();
    }
    if (!auth.authenticate) return anonymous;
    // Without its body: whoever reads it here would take it from the handler.
    const shown = new Request(request?.url ?? "http://localhost/", {
      method: request?.method ?? "GET",
      headers,
    });
    let returned: unknown;
    try {
      returned = await auth.authenticate(shown);
    } catch (error) {
      const stated = statedFailure(error, "unauthenticated");
      if (stated) throw stated;
      // Libraries throw on a bad token; that is a refusal and not a defect of the server.
      logger.warn({ err: error }, "the project's authenticate failed; the request is refused");
      throw refused(error);
    }
    const principal = toPrincipal(returned);
    if (!principal) throw refused();
    return principal;
  }

  /** Anybody can write that header, so it needs the server's own key, or a request that names this machine. */
  async function isOperator(headers: Headers, request: Request | undefined): Promise<boolean> {
    if (options.behindGateway) return isNamedOperator(headers);
    if (options.ownRequired) return (await own.authenticate(headers, request)) !== null;
    const host = headers.get("host") ?? (request ? new URL(request.url).host : "");
    const hostname = hostnameOf(host);
    return hostname !== null && isLoopbackHostname(hostname);
  }

  async function callerOf(headers: Headers, request: Request | undefined): Promise<Caller> {
    const principal = await principalOf(headers, request);
    const base = await own.loopbackCaller();
    return { ...base, userId: principal.identity, via: "api_key", principal };
  }

  return {
    authenticate(headers, request) {
      if (!request) return callerOf(headers, request);
      let caller = known.get(request);
      if (!caller) {
        caller = callerOf(headers, request);
        known.set(request, caller);
      }
      return caller;
    },
    loopbackCaller: () => Promise.reject(refused()),
  };
}

/** For a project with handlers but without `authenticate`. */
const anonymous: Principal = {
  identity: "anonymous",
  permissions: [],
  fields: { identity: "anonymous", display_name: "anonymous", is_authenticated: false, permissions: [] },
};

function refused(cause?: unknown): AppError {
  return new AppError({
    code: "auth.unauthenticated",
    kind: "unauthenticated",
    message: "The project's authentication did not accept this request. Send the credential it asks for.",
    cause,
  });
}
