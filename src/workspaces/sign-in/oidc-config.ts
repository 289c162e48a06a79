import type { Role } from "../../platform/http/access/caller.ts";

export type OidcConfig = {
  issuer: string;
  clientId: string;
  clientSecret: string | undefined;
  /** What people know the provider as. */
  name: string;
  scopes: string;
  groupsClaim: string;
  /** Role of each group; `*` is everybody. Empty: groups decide nothing. */
  roles: readonly { group: string; role: Role }[];
  /** Where groups give roles; undefined: the bootstrap workspace. */
  workspaceId: string | undefined;
  trustEmail: boolean;
  required: boolean;
};
