import { resolve } from "node:path";
import { z } from "zod";
import { text } from "./fields.ts";

/** Settings of the auth service: the OAuth providers that the operator gives. */
export const accountSettings = {
  TREADLE_OAUTH_PROVIDERS_FILE: text
    .optional()
    .describe("A JSON file with the OAuth providers that every workspace may use; docs/auth-service.md."),
  TREADLE_OAUTH_PLATFORM_ORGANIZATION: z
    .guid("must be a uuid")
    .optional()
    .describe("The organization whose OAuth providers every workspace may use."),
};

export function accountConfigOf(env: z.output<z.ZodObject<typeof accountSettings>>) {
  return {
    oauthProvidersFile: env.TREADLE_OAUTH_PROVIDERS_FILE && resolve(env.TREADLE_OAUTH_PROVIDERS_FILE),
    oauthPlatformOrganization: env.TREADLE_OAUTH_PLATFORM_ORGANIZATION,
  };
}
