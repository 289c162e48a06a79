import { z } from "zod";
import { type Role, roles } from "../platform/http/access/caller.ts";
import type { SessionLimits } from "../workspaces/sessions/console-session.ts";
import type { OidcConfig } from "../workspaces/sign-in/oidc-config.ts";
import { amount, commaList, flag, list, text } from "./fields.ts";
import { isLoopbackHost } from "./loopback.ts";
import { invalidSettings } from "./parse-settings.ts";

/** Settings of people's sign-in and of their console sessions. */
export const signInSettings = {
  TREADLE_SESSION_IDLE_MINUTES: amount(5, 525_600)
    .default(720)
    .describe("A console session ends when it has not been used for this long."),
  TREADLE_SESSION_LIFETIME_HOURS: amount(1, 8_760)
    .default(168)
    .describe("A console session always ends after this time; people then sign in again."),
  TREADLE_OIDC_ISSUER: z
    .url("must be a URL")
    .refine(isSafeIssuer, "must be https, or http on this machine, without ? and #")
    .optional()
    .describe("OpenID Connect provider people sign in with; docs/sign-in.md."),
  TREADLE_OIDC_CLIENT_ID: text.optional().describe("This server's client id at the provider."),
  TREADLE_OIDC_CLIENT_SECRET: text
    .optional()
    .describe("The client secret; without one, this server is a public client, protected by PKCE alone."),
  TREADLE_OIDC_NAME: z
    .string()
    .trim()
    .min(1)
    .max(60)
    .optional()
    .describe("The provider's name on the sign-in page; default: the issuer's host."),
  TREADLE_OIDC_SCOPES: z
    .string()
    .default("openid email profile")
    .refine((value) => value.split(/\s+/).includes("openid"), "must contain openid")
    .describe("Scopes to request from the provider, separated by spaces."),
  TREADLE_OIDC_GROUPS_CLAIM: text.default("groups").describe("The claim that lists a person's groups."),
  TREADLE_OIDC_ROLES: list
    .refine((value) => rolesOf(value) !== null, `must be group=role,… with the roles ${roles.join(", ")}`)
    .describe(
      "Role of each group, as group=role,…; * is everybody. The strongest role applies. Empty: only members can sign in.",
    ),
  TREADLE_OIDC_WORKSPACE_ID: z
    .guid("must be a uuid")
    .optional()
    .describe("The workspace in which groups give roles; default: the bootstrap workspace."),
  TREADLE_OIDC_TRUST_EMAIL: flag
    .default(false)
    .describe("Treat the provider's e-mail addresses as verified, even without email_verified."),
  TREADLE_OIDC_REQUIRED: flag
    .default(false)
    .describe("People cannot sign in to the console with API keys; programs can still use them."),
};

export type SignInConfig = { sessions: SessionLimits; oidc: OidcConfig | null };

export function signInConfigOf(env: z.output<z.ZodObject<typeof signInSettings>>): SignInConfig {
  const { TREADLE_OIDC_ISSUER: issuer, TREADLE_OIDC_CLIENT_ID: clientId } = env;
  if ((issuer === undefined) !== (clientId === undefined)) {
    throw invalidSettings(
      "TREADLE_OIDC_ISSUER and TREADLE_OIDC_CLIENT_ID belong together. Set both, or neither.",
    );
  }
  if (env.TREADLE_OIDC_REQUIRED && issuer === undefined) {
    throw invalidSettings("TREADLE_OIDC_REQUIRED needs a provider: set TREADLE_OIDC_ISSUER as well.");
  }
  return {
    sessions: {
      idleMs: env.TREADLE_SESSION_IDLE_MINUTES * 60_000,
      lifetimeMs: env.TREADLE_SESSION_LIFETIME_HOURS * 3_600_000,
    },
    oidc:
      issuer === undefined || clientId === undefined
        ? null
        : {
            issuer,
            clientId,
            clientSecret: env.TREADLE_OIDC_CLIENT_SECRET,
            name: env.TREADLE_OIDC_NAME ?? new URL(issuer).host,
            scopes: env.TREADLE_OIDC_SCOPES.split(/\s+/).join(" "),
            groupsClaim: env.TREADLE_OIDC_GROUPS_CLAIM,
            roles: rolesOf(env.TREADLE_OIDC_ROLES) ?? [],
            workspaceId: env.TREADLE_OIDC_WORKSPACE_ID,
            trustEmail: env.TREADLE_OIDC_TRUST_EMAIL,
            required: env.TREADLE_OIDC_REQUIRED,
          },
  };
}

function isSafeIssuer(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.search !== "" || url.hash !== "" || url.username !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname));
}

/** Null when it cannot be read. A group's name may hold `=`; its role is what follows the last one. */
function rolesOf(value: string): { group: string; role: Role }[] | null {
  const found = commaList(value).map((part) => {
    const at = part.lastIndexOf("=");
    const group = part.slice(0, Math.max(at, 0)).trim();
    const role = roles.find((known) => known === part.slice(at + 1).trim());
    return group === "" || role === undefined ? null : { group, role };
  });
  return found.includes(null) ? null : found.filter((entry) => entry !== null);
}
