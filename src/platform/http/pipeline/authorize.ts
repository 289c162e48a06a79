import { AppError } from "../../errors.ts";
import { type Authenticator, type Caller, CallerRefused, roleCovers } from "../access/caller.ts";
import type { Cors } from "../access/cors.ts";
import type { FailedCredentials } from "../access/failed-credentials.ts";
import { hostnameOf, isLoopbackHostname } from "../access/loopback.ts";
import { neededScopes, type Scope, scopesCover } from "../access/scope.ts";
import { type AuditSink, plainText, refusalKinds } from "../audit/audit.ts";
import { statusOf } from "../error-response.ts";
import type { Access, Demand } from "../route.ts";

export type AccessOptions = {
  authenticator: Authenticator;
  /** Whether the agent server and the chat application ask for a credential. */
  agentAuthRequired: boolean;
  cors: Cors;
  /** Where refused credentials are counted. */
  failedCredentials?: FailedCredentials | undefined;
  /** Records refusals. */
  audit?: AuditSink | undefined;
};

/**
 * Decides who is calling, or throws 401, 403 or 429. `urlHost` stands in where there is no Host header; `peer` is the
 * address of the connection.
 */
export type Authorize = (
  access: Access,
  headers: Headers,
  urlHost: string,
  request?: Request,
  peer?: string,
  requestId?: string,
) => Promise<Caller | null>;

export function createAuthorize(options: AccessOptions): Authorize {
  const { agentAuthRequired, cors } = options;
  const authenticator = options.failedCredentials
    ? countingFailures(options.authenticator, options.failedCredentials)
    : options.authenticator;
  const decide: Decide = async (seen, access, headers, urlHost, request, peer) => {
    let caller = await authenticator.authenticate(headers, request, peer);
    seen.caller = caller;
    if (caller === null) {
      if (access.kind === "workspace" || agentAuthRequired) throw credentialMissing();
      refuseForeignPages(headers, urlHost, cors);
      caller = await authenticator.loopbackCaller();
      seen.caller = caller;
    } else refuseForeignSockets(headers, urlHost, cors);
    if (caller.deploymentId !== undefined && !(access.kind === "agent" && access.gateway)) {
      throw forbidden(
        "request.token_of_deployment",
        `This token is valid only for the deployment ${caller.deploymentId}. Use an API key here.`,
      );
    }
    checkDemand(caller, access);
    return caller;
  };
  return async (access, headers, urlHost, request, peer, requestId = "") => {
    if (access.kind === "open") return null;
    const seen: Seen = { caller: null };
    try {
      return await decide(seen, access, headers, urlHost, request, peer);
    } catch (error) {
      recordRefusal(options.audit, error, seen, headers, request, peer, requestId);
      throw error;
    }
  };
}

/** The caller that was recognised before the refusal. */
type Seen = { caller: Caller | null };
type Decide = (
  seen: Seen,
  access: Exclude<Access, { kind: "open" }>,
  headers: Headers,
  urlHost: string,
  request: Request | undefined,
  peer: string | undefined,
) => Promise<Caller>;

/** 403, 429, and 401 for a credential that was presented; a request without one is not recorded. */
function recordRefusal(
  audit: AuditSink | undefined,
  error: unknown,
  { caller }: Seen,
  headers: Headers,
  request: Request | undefined,
  peer: string | undefined,
  requestId: string,
): void {
  if (!audit || !(error instanceof AppError)) return;
  if (!refusalKinds.has(error.kind)) return;
  if (error.code === "request.credential_missing") return;
  const path = request && new URL(request.url).pathname.slice(0, 200);
  const asked = error instanceof CallerRefused ? headers.get("x-tenant-id") : null;
  audit.noteRefusal({
    action: "request.refused",
    outcome: "refused",
    status: statusOf(error.kind),
    errorCode: error.code,
    caller: error instanceof CallerRefused ? error.caller : caller,
    target: request ? { kind: "path", id: `${request.method} ${path}` } : null,
    details: asked === null ? {} : { asked_workspace: plainText(asked, 64) },
    peer,
    headers,
    requestId,
  });
}

/** Throws 403 when the credential has too low a role, lacks the scope, or is limited to something else. */
export function checkDemand(caller: Caller, demand: Demand): void {
  if (!roleCovers(caller.role, demand.role)) {
    throw forbidden(
      "request.role_too_low",
      `This needs the role ${demand.role}; the credential has the role ${caller.role}. Use a credential with more rights.`,
    );
  }
  const needed = neededScopes(demand.scope);
  if (!scopesCover(caller.scopes, demand.scope)) throw scopeMissing(caller, demand);
  if (demand.namedByKey && !isNamedByKey(caller, needed)) throw scopeNotNamed(needed);
  if (caller.tracingProject !== undefined && !demand.checksTracingProject) {
    throw forbidden(
      "request.tracing_project_only",
      `This credential can only write traces of the project "${caller.tracingProject}". Use another key for this.`,
    );
  }
  if (!caller.mayUseAccounts && needed.every((scope) => scope === "accounts")) {
    throw forbidden(
      "request.accounts_not_yours",
      caller.via === "service"
        ? "A service has no accounts and may not use people's accounts. Use a key that a person created."
        : "This key was not created by its user, or its creator is unknown, so it may not use the user's accounts. Its user can create a key for that.",
    );
  }
}

function scopeMissing({ scopes }: Caller, { scope }: Demand): AppError {
  const needed = neededScopes(scope);
  const wanted = needed.length === 1 ? `the scope ${needed[0]}` : `one of the scopes ${needed.join(", ")}`;
  const held = scopes?.length
    ? `has ${scopes.length === 1 ? "the scope" : "the scopes"} ${scopes.join(", ")}`
    : "has no scope";
  return insufficientScope(needed, `This needs ${wanted}; the credential ${held}. Use a key that has it.`);
}

function isNamedByKey({ via, scopes }: Caller, needed: readonly Scope[]): boolean {
  const isKey = via === "api_key" || via === "service";
  return isKey && needed.some((scope) => scopes?.includes(scope));
}

function scopeNotNamed(needed: readonly Scope[]): AppError {
  const named = needed.join(" or ");
  return insufficientScope(
    needed,
    `This needs a key that names the scope ${named} itself; other credentials, also an admin's, may not do it. Make such a key with \`treadle keys create NAME --service --scope ${needed[0]}\`, or with POST /v2/api-keys.`,
  );
}

function insufficientScope(needed: readonly Scope[], message: string): AppError {
  return new AppError({
    code: "request.scope_missing",
    kind: "forbidden",
    message,
    // RFC 6750, for clients that read it.
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${needed.join(" ")}"` },
  });
}

type CountingAuthenticator = Pick<Authenticator, "loopbackCaller"> & {
  authenticate(headers: Headers, request?: Request, peer?: string): Promise<Caller | null>;
};

function countingFailures(authenticator: Authenticator, failed: FailedCredentials): CountingAuthenticator {
  return {
    loopbackCaller: () => authenticator.loopbackCaller(),
    async authenticate(headers, request, peer) {
      const credential = headers.get("x-api-key") ?? headers.get("authorization");
      if (credential === null) return authenticator.authenticate(headers, request);
      const address = failed.addressOf(peer, headers);
      failed.admit(address, credential);
      try {
        const caller = await authenticator.authenticate(headers, request);
        failed.accepted(credential);
        return caller;
      } catch (error) {
        if (error instanceof AppError && error.kind === "unauthenticated")
          await failed.refused(address, credential);
        throw error;
      }
    },
  };
}

/**
 * Without a credential, being on this machine is the only proof of identity, and a browser on this machine
 * runs other people's pages. So: the Host must be loopback (a foreign name resolving to 127.0.0.1 is DNS
 * rebinding), and a page's origin must be trusted.
 */
function refuseForeignPages(headers: Headers, urlHost: string, cors: Cors): void {
  const hostname = hostnameOf(headers.get("host") ?? urlHost);
  if (hostname === null || !isLoopbackHostname(hostname)) {
    throw foreign("The Host of this request is not a loopback address, so a credential is required.");
  }
  const origin = headers.get("origin");
  if (origin !== null) {
    if (!cors.isTrusted(origin)) {
      throw foreign(
        "A page of another site may not use this server without a credential. Send X-Api-Key, or add the origin to TREADLE_CORS_ORIGINS.",
      );
    }
  } else if (headers.get("sec-fetch-site") === "cross-site") {
    throw foreign("A page of another site may not use this server without a credential. Send X-Api-Key.");
  }
}

/**
 * A browser asks before it lets a page of another site send a credential, but not before it opens a WebSocket: what
 * the preflight would have refused is refused here.
 */
function refuseForeignSockets(headers: Headers, urlHost: string, cors: Cors): void {
  const origin = headers.get("origin");
  if (origin === null || headers.get("upgrade")?.toLowerCase() !== "websocket") return;
  if (cors.allowedOrigin(origin) !== null) return;
  const page = URL.parse(origin)?.host;
  // Behind a proxy the address the page knows is the one the proxy was asked for; a page cannot set either.
  const hosts = [headers.get("host") ?? urlHost, headers.get("x-forwarded-host")];
  if (page && hosts.some((host) => host?.toLowerCase() === page)) return;
  throw foreign(
    "A page of another site may not open a WebSocket here. Add its origin to TREADLE_CORS_ORIGINS (CORS_ALLOW_ORIGINS for an agent server).",
  );
}

function forbidden(
  code: `request.${"accounts_not_yours" | "foreign_origin" | "role_too_low" | "token_of_deployment" | "tracing_project_only"}`,
  message: string,
): AppError {
  return new AppError({ code, kind: "forbidden", message });
}

function foreign(message: string): AppError {
  return forbidden("request.foreign_origin", message);
}

function credentialMissing(): AppError {
  return new AppError({
    code: "request.credential_missing",
    kind: "unauthenticated",
    message: "A credential is required. Send an API key as X-Api-Key or as Authorization: Bearer.",
  });
}
