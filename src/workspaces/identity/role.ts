import { type Role, roleCovers } from "../../platform/http/access/caller.ts";

/** A key never gives more than its user has, and a user's key may give less. */
export function weakerRole(first: Role, second: Role): Role {
  return roleCovers(first, second) ? second : first;
}
