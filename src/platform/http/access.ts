import { AppError } from "../errors.ts";
import { type Authenticator, type Caller, roleCovers } from "./caller.ts";
import type { Cors } from "./cors.ts";
import { hostnameOf, isLoopbackHostname } from "./loopback.ts";
import type { Access } from "./route.ts";

export type AccessOptions = {
  authenticator: Authenticator;
  /** Whether the agent server and the chat application ask for a credential. */
  agentAuthRequired: boolean;
  cors: Cors;
};

/** Decides who is calling, or throws 401 or 403. `urlHost` stands in where there is no Host header. */
export type Authorize = (
  access: Access,
  headers: Headers,
  urlHost: string,
  request?: Request,
) => Promise<Caller | null>;

export function createAuthorize(options: AccessOptions): Authorize {
  const { authenticator, agentAuthRequired, cors } = options;
  return async (access, headers, urlHost, request) => {
    if (access.kind === "open") return null;
    let caller = await authenticator.authenticate(headers, request);
    if (caller === null) {
      if (access.kind === "workspace" || agentAuthRequired) throw credentialMissing();
      refuseForeignPages(headers, urlHost, cors);
      caller = await authenticator.loopbackCaller();
    }
    if (!roleCovers(caller.role, access.role)) {
      throw new AppError({
        code: "request.role_too_low",
        kind: "forbidden",
        message: `This needs the role ${access.role}; the credential has the role ${caller.role}. Use a credential with more rights.`,
      });
    }
    return caller;
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
        "A page of another site may not use this server without a credential. Send X-Api-Key, or name the origin in TREADLE_CORS_ORIGINS.",
      );
    }
  } else if (headers.get("sec-fetch-site") === "cross-site") {
    throw foreign("A page of another site may not use this server without a credential. Send X-Api-Key.");
  }
}

function foreign(message: string): AppError {
  return new AppError({ code: "request.foreign_origin", kind: "forbidden", message });
}

function credentialMissing(): AppError {
  return new AppError({
    code: "request.credential_missing",
    kind: "unauthenticated",
    message: "A credential is required. Send an API key as X-Api-Key or as Authorization: Bearer.",
  });
}
