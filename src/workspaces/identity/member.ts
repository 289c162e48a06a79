import { AppError } from "../../platform/errors.ts";
import type { Role } from "../../platform/http/access/caller.ts";

/** A user as a member of one workspace. */
export type Member = {
  user_id: string;
  email: string;
  name: string;
  role: Role;
  /** Null: never. */
  signed_in_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

export function memberNotFound(userId: string): AppError {
  return new AppError({
    code: "member.not_found",
    kind: "not_found",
    message: `Member with user ID ${userId} not found.`,
  });
}
