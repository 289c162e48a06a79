import { AppError, invalidField } from "../../platform/errors.ts";
import { type Caller, type Role, roleCovers } from "../../platform/http/access/caller.ts";
import { mayGiveScopes, type Scope, serviceScopes } from "../../platform/http/access/scope.ts";
import { roleForScopes, scopeRoles } from "../identity/api-key.ts";

export type WantedRights = {
  service?: boolean | undefined;
  scopes?: Scope[] | null | undefined;
  tracing_project?: string | null | undefined;
};

/** Throws when the scopes make no sense together, or are more than the caller may give. */
export function checkScopes(caller: Caller, wanted: WantedRights): void {
  const scopes = wanted.scopes ?? null;
  if (wanted.service) checkService(scopes);
  if (wanted.tracing_project != null && !(scopes?.length === 1 && scopes[0] === "traces:write")) {
    throw invalidField(
      ["body", "tracing_project"],
      "A key of one tracing project needs the scope traces:write and no other",
      wanted.tracing_project,
    );
  }
  if (!mayGiveScopes(caller.scopes, scopes)) {
    throw new AppError({
      code: "api_key.forbidden",
      kind: "forbidden",
      message: `A key cannot have scopes that its creator does not have: yours are ${caller.scopes?.join(", ")}.`,
    });
  }
}

/** A scope that the role cannot use would be accepted and ignored. */
export function checkUseful(role: Role, scopes: readonly Scope[] | null): void {
  const idle = scopes?.find((scope) => !roleCovers(role, scopeRoles[scope]));
  if (idle === undefined) return;
  throw invalidField(
    ["body", "scopes"],
    `The role ${role} cannot use the scope ${idle}: it needs the role ${scopeRoles[idle]}`,
    scopes,
  );
}

function checkService(scopes: Scope[] | null): void {
  if (scopes === null) {
    throw invalidField(
      ["body", "scopes"],
      `A service key needs scopes: choose from ${serviceScopes.join(", ")}`,
      null,
    );
  }
  const refused = scopes.find((scope) => !(serviceScopes as readonly Scope[]).includes(scope));
  if (refused !== undefined) {
    throw invalidField(["body", "scopes"], `A service key cannot have the scope ${refused}`, scopes);
  }
}

/** The default rights of a key: change things, but neither delete them nor manage people. */
export function defaultRole(scopes: readonly Scope[] | null): Role {
  return scopes === null ? "editor" : roleForScopes(scopes);
}

const dayMs = 24 * 60 * 60 * 1000;
const defaultDays = 90;

/** Null: never, which has to be asked for. */
export function expiryOf(
  wanted: { expires_at?: Date | null | undefined; expires_in_days?: number | null | undefined },
  now: Date,
): Date | null {
  const { expires_at: at, expires_in_days: days } = wanted;
  if (at != null && days != null) {
    throw invalidField(["body", "expires_in_days"], "Send expires_at or expires_in_days, not both", days);
  }
  if (days != null) return new Date(now.getTime() + Math.round(days * dayMs));
  if (at != null && at <= now) {
    throw invalidField(["body", "expires_at"], "Must be in the future", at.toISOString());
  }
  if (at === undefined && days === undefined) return new Date(now.getTime() + defaultDays * dayMs);
  return at ?? null;
}
