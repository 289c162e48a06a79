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
export class ProjectAuthenticator implements Authenticator {
  readonly #options: ProjectAuthenticatorOptions;
  // A request that passes the custom application first is asked once.
  readonly #known = new WeakMap<Request, Promise<Caller>>();

  constructor(options: ProjectAuthenticatorOptions) {
    this.#options = options;
  }

  authenticate(headers: Headers, request?: Request): Promise<Caller> {
    if (!request) return this.#callerOf(headers, request);
    let caller = this.#known.get(request);
    if (!caller) {
      caller = this.#callerOf(headers, request);
      this.#known.set(request, caller);
    }
    return caller;
  }

  loopbackCaller(): Promise<Caller> {
    return Promise.reject(refused());
  }

  async #callerOf(headers: Headers, request: Request | undefined): Promise<Caller> {
    const principal = await this.#principalOf(headers, request);
    const base = await this.#options.own.loopbackCaller();
    return { ...base, userId: principal.identity, via: "api_key", principal };
  }

  async #principalOf(headers: Headers, request: Request | undefined): Promise<Principal> {
    const { auth, logger } = this.#options;
    if (!auth.disableStudioAuth && headers.get("x-auth-scheme") === "langsmith") {
      if (await this.#isOperator(headers, request)) return studioPrincipal;
      throw refused();
    }
    if (!auth.authenticate) return anonymous;
    // Without its body: if it were read here, the handler could not read it.
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
  async #isOperator(headers: Headers, request: Request | undefined): Promise<boolean> {
    const { behindGateway, ownRequired, own } = this.#options;
    if (behindGateway) return isNamedOperator(headers);
    if (ownRequired) return (await own.authenticate(headers, request)) !== null;
    const host = headers.get("host") ?? (request ? new URL(request.url).host : "");
    const hostname = hostnameOf(host);
    return hostname !== null && isLoopbackHostname(hostname);
  }
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
    message: "The project's authentication refused this request. Send the credential it needs.",
    cause,
  });
}
