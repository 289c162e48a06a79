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
  userId: string;
  role: Role;
  /** How the caller was recognised; `loopback` is the credential-free caller of areas C and D. */
  via: "api_key" | "session" | "loopback";
  apiKeyId?: string;
  /** Set where a project brings its own authentication. */
  principal?: Principal;
  /** Metadata the rows of this request must match, by a project's own authorization. */
  rowFilter?: Record<string, unknown>;
};

/** Somebody a project's own authentication has recognised. */
export type Principal = {
  identity: string;
  permissions: readonly string[];
  /** Everything it said about the user, the two above included. */
  fields: Record<string, unknown>;
};

/** Turns credentials into a caller. `null` means none were presented; bad ones throw (401/403). */
export type Authenticator = {
  authenticate(headers: Headers, request?: Request): Promise<Caller | null>;
  /** The bootstrap workspace's caller for credential-free loopback requests. */
  loopbackCaller(): Promise<Caller>;
};
