import { createHash, timingSafeEqual } from "node:crypto";
import { AppError } from "../../platform/errors.ts";
import type { Authenticator, Caller } from "../../platform/http/access/caller.ts";

export type SingleWorkspaceOptions = {
  workspaceId: string;
  /** Undefined: there is no key, so a key that a client sends is ignored. */
  apiKey: string | undefined;
  /** Refuse a request that names another workspace. */
  checkTenant: boolean;
  /**
   * Whether the project's own code makes the request, in this process. A key that it sends is meant for another server.
   */
  isInProcess?: () => boolean;
};

/** Identity of an agent server that stands alone: one workspace, at most one key. */
export class SingleWorkspace implements Authenticator {
  readonly #options: SingleWorkspaceOptions;

  constructor(options: SingleWorkspaceOptions) {
    this.#options = options;
  }

  async authenticate(headers: Headers): Promise<Caller | null> {
    const { workspaceId, apiKey, checkTenant, isInProcess } = this.#options;
    if (apiKey === undefined) return null;
    if (isInProcess?.()) return this.#caller("api_key");
    const given = headers.get("x-api-key") ?? bearerOf(headers.get("authorization"));
    if (given === null) return null;
    if (!same(given, apiKey)) {
      throw new AppError({
        code: "auth.key_unknown",
        kind: "unauthenticated",
        message: "This is not the API key of this server. Check TREADLE_API_KEY.",
      });
    }
    const tenant = headers.get("x-tenant-id");
    if (checkTenant && tenant !== null && tenant.toLowerCase() !== workspaceId.toLowerCase()) {
      throw new AppError({
        code: "auth.wrong_workspace",
        kind: "forbidden",
        message: `API key tenant mismatch: this server belongs to workspace ${workspaceId}.`,
      });
    }
    return this.#caller("api_key");
  }

  async loopbackCaller(): Promise<Caller> {
    return this.#caller("loopback");
  }

  #caller(via: Caller["via"]): Caller {
    const { workspaceId } = this.#options;
    return {
      organizationId: workspaceId,
      workspaceId,
      userId: via === "loopback" ? "local" : "api-key",
      role: "admin",
      via,
      scopes: null,
      // Accounts are the platform's.
      mayUseAccounts: false,
    };
  }
}

function bearerOf(authorization: string | null): string | null {
  return /^Bearer\s+(.+)$/i.exec(authorization ?? "")?.[1] ?? null;
}

/** Hashed first, so that the time taken reveals nothing, not even the length. */
function same(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
