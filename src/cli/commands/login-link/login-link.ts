import { systemClock } from "../../../platform/clock.ts";
import { readRuntimeFile } from "../../../platform/data-folder/data-folder.ts";
import type { Sql } from "../../../platform/db/database.ts";
import { openSecretBox } from "../../../platform/encryption/encryption-keys.ts";
import { AppError } from "../../../platform/errors.ts";
import { ApiKeyHasher } from "../../../workspaces/identity/api-key-hasher.ts";
import { readCredentials } from "../../../workspaces/installation/credentials-file.ts";
import { SignInCodes, signInLink } from "../../../workspaces/sign-in/sign-in-code-service.ts";
import { findUserByEmail } from "../../../workspaces/sign-in/user-login-store.ts";
import { neverStarted, withInstallation } from "../../server/installation.ts";
import { findOperator } from "../../server/operator.ts";
import { createOutput } from "../../terminal/output.ts";
import type { LoginLinkOptions } from "./options.ts";

export async function makeLoginLink(options: LoginLinkOptions): Promise<void> {
  const output = createOutput(options);
  const { link, expiresAt, email } = await withInstallation(options, async ({ config, database, logger }) => {
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
      return { link: signInLink(url, code), expiresAt, email: options.email ?? "the administrator" };
    } finally {
      await stop();
    }
  });
  output.data({ url: link, expires_at: expiresAt.toISOString() });
  output.line(output.paint("cyan", link));
  output.line(`Signs in ${email} in the browser that opens it: once, until ${expiresAt.toISOString()}.`);
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
