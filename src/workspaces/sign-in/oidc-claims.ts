import { type Role, roles } from "../../platform/http/access/caller.ts";
import type { OidcConfig } from "./oidc-config.ts";

/** The provider's claims about a person, as far as they matter here. */
export type Subject = {
  issuer: string;
  subject: string;
  email: string | null;
  emailVerified: boolean;
  name: string | null;
  groups: string[];
};

export type Claims = Record<string, unknown>;

export function subjectOf(claims: Claims, config: OidcConfig): Subject {
  const email = textOf(claims.email)?.trim() ?? null;
  const verified = claims.email_verified;
  return {
    issuer: config.issuer,
    subject: String(claims.sub),
    email: email !== null && /^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 320 ? email : null,
    // Some providers send the word. Anything but a clear yes is a no.
    emailVerified: verified === true || verified === "true" || (config.trustEmail && verified !== false),
    name: nameOf(claims),
    groups: groupsOf(claims[config.groupsClaim]),
  };
}

/** Whether the id token leaves out what a decision needs, so that the provider is asked for more. */
export function needsUserInfo(claims: Claims, config: OidcConfig): boolean {
  if (claims.email === undefined) return true;
  return config.roles.some(({ group }) => group !== "*") && claims[config.groupsClaim] === undefined;
}

/** The strongest role that a user's groups give; null: none. */
export function roleOf(groups: readonly string[], config: OidcConfig): Role | null {
  const given = config.roles
    .filter(({ group }) => group === "*" || groups.includes(group))
    .map(({ role }) => roles.indexOf(role));
  return given.length === 0 ? null : roles[Math.max(...given)]!;
}

/** A list of names; some providers send one name, or names separated by spaces or commas. */
function groupsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.filter((group) => typeof group === "string");
  return typeof value === "string" ? [value, ...value.split(/[\s,]+/)].filter(Boolean) : [];
}

function nameOf(claims: Claims): string | null {
  const name = textOf(claims.name) ?? textOf(claims.preferred_username);
  // Names end up on terminals and in logs.
  const plain = name
    ?.replace(/\p{Cc}/gu, " ")
    .trim()
    .slice(0, 200);
  return plain ? plain : null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
