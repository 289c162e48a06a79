import { AppError, sameAs } from "../../errors.ts";
import type { Scope } from "./scope.ts";

/** Least to most powerful. */
export const roles = ["viewer", "editor", "admin"] as const;
export type Role = (typeof roles)[number];

export function roleCovers(held: Role, needed: Role): boolean {
  return roles.indexOf(held) >= roles.indexOf(needed);
}

/** Who is asking, and in which workspace. Every query is scoped by `workspaceId`. */
export type Caller = {
  organizationId: string;
  workspaceId: string;
  /** A person. A service is none: there it is the id of its key, which is no user's. */
  userId: string;
  role: Role;
  /**
   * How the caller was recognised. `console` is a person by the console's cookie, `loopback` the credential-free caller
   * of areas C and D; `service` is a key that belongs to a workspace and to no person.
   */
  via: "api_key" | "session" | "console" | "service" | "loopback";
  /** What the credential is limited to; null: everything its role allows. */
  scopes: readonly Scope[] | null;
  /** The name of the one tracing project the credential may write to; it then opens nothing else. */
  tracingProject?: string;
  /**
   * Whether the accounts that `userId` has connected may be used. False for services, and for a key that somebody
   * else made for that person.
   */
  mayUseAccounts: boolean;
  apiKeyId?: string;
  /** The console session of a person in a browser. */
  sessionId?: string;
  /** The one deployment a token is for; it opens nothing else. */
  deploymentId?: string;
  /** Set where a project brings its own authentication. */
  principal?: Principal;
  /** Metadata the rows of this request must match, by a project's own authorization. */
  rowFilter?: Record<string, unknown>;
};

/** A caller that a project's own authentication has recognised. */
export type Principal = {
  identity: string;
  permissions: readonly string[];
  /** Everything it returned about the user, the two above included. */
  fields: Record<string, unknown>;
};

/** A refusal of a recognised caller: the credential is valid, but does not give access to what was requested. */
export class CallerRefused extends AppError {
  /** In a workspace of its own. */
  readonly caller: Caller;

  constructor(refusal: AppError, caller: Caller) {
    super({ ...sameAs(refusal), message: refusal.message });
    this.caller = caller;
  }
}

/** Turns credentials into a caller. `null` means none were presented; bad ones throw (401/403). */
export type Authenticator = {
  authenticate(headers: Headers, request?: Request): Promise<Caller | null>;
  /** The bootstrap workspace's caller for credential-free loopback requests. */
  loopbackCaller(): Promise<Caller>;
};
