import { systemClock } from "../../platform/clock.ts";
import { readRuntimeFile } from "../../platform/data-folder/data-folder.ts";
import type { Sql } from "../../platform/db/database.ts";
import { openSecretBox } from "../../platform/encryption/encryption-keys.ts";
import { AppError } from "../../platform/errors.ts";
import { ApiKeyHasher } from "../../workspaces/identity/api-key-hasher.ts";
import { readCredentials } from "../../workspaces/installation/credentials-file.ts";
import { SignInCodes, signInLink } from "../../workspaces/sign-in/sign-in-code-service.ts";
import { findUserByEmail } from "../../workspaces/sign-in/user-login-store.ts";
import { neverStarted, withInstallation } from "./installation.ts";
import { findOperator } from "./operator.ts";

/** A link that signs a user in once. Created on the database itself: everyone who can read that can act as any user. */
export async function makeSignInLink(
  options: { dataDir?: string | undefined; email?: string | undefined },
  page?: string,
): Promise<{ link: string; expiresAt: Date }> {
  return withInstallation(options, async ({ config, database, logger }) => {
    const operator = await findOperator(database.sql, config.workspaceId, systemClock.now());
    if (operator === null) throw neverStarted(config.dataDir);
    const { organizationId } = operator;
    const userId =
      options.email === undefined
        ? operator.userId
        : await userOf(database.sql, organizationId, options.email);
    const { secretBox, stop } = await openSecretBox({ ...config, database, logger });
    try {
      const hasher = new ApiKeyHasher({ database, secretBox });
      const codes = new SignInCodes({ database, clock: systemClock, hasher });
      const { code, expiresAt } = await codes.make({ organizationId, userId });
      const known = (await readRuntimeFile(config.dataDir)) ?? (await readCredentials(config.dataDir));
      const url = config.publicUrl ?? known?.url ?? `http://127.0.0.1:${config.port}`;
      return { link: signInLink(url, code, page), expiresAt };
    } finally {
      await stop();
    }
  });
}

async function userOf(sql: Sql, organizationId: string, email: string): Promise<string> {
  const user = await findUserByEmail(sql, { organizationId, email, issuer: "" });
  if (user) return user.id;
  throw new AppError({
    code: "member.not_found",
    kind: "not_found",
    message: `Nobody here has the address ${email}. The members page of the console lists the addresses.`,
  });
}
