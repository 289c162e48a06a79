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
};

/** Turns credentials into a caller. `null` means none were presented; bad ones throw (401/403). */
export type Authenticator = {
  authenticate(headers: Headers): Promise<Caller | null>;
  /** The bootstrap workspace's caller for credential-free loopback requests. */
  loopbackCaller(): Promise<Caller>;
};
