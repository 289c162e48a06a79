import { z } from "zod";
import { roles } from "../../platform/http/access/caller.ts";

/** Long enough for a page to renew it at leisure, short enough to be of little use if it leaks. */
export const deploymentTokenLifetimeMs = 10 * 60_000;
export const deploymentTokenAudience = "treadle.deployment";

const prefix = "tdt_";

export const deploymentTokenClaims = z.object({
  sub: z.guid(),
  organization_id: z.guid(),
  workspace_id: z.guid(),
  deployment_id: z.guid(),
  role: z.enum(roles),
  /** What it was made with: it ends with that. One of the two. */
  session_id: z.guid().optional(),
  key_id: z.guid().optional(),
  /** Set where a browser keeps it as a cookie: it then counts as that cookie, at that origin, and nowhere else. */
  page_origin: z.string().optional(),
});
export type DeploymentTokenClaims = z.infer<typeof deploymentTokenClaims>;

/** Recognised by its prefix, also where it must be kept from a deployment's own code. */
export function isDeploymentToken(credential: string): boolean {
  return credential.startsWith(prefix);
}

export const withPrefix = (jwt: string): string => `${prefix}${jwt}`;
export const withoutPrefix = (token: string): string => token.slice(prefix.length);
