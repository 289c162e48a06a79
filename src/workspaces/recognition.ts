import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import type { Logger } from "../platform/logger.ts";
import { KeyAuthenticator } from "./authentication/authenticator.ts";
import { ApiKeyHasher } from "./identity/api-key-hasher.ts";
import { IdentityChanges } from "./identity/identity-change-service.ts";
import type { Bootstrapped } from "./installation/bootstrap.ts";
import type { SessionLimits } from "./sessions/console-session.ts";
import { ConsoleSessions } from "./sessions/console-session-service.ts";
import { PagePasses } from "./sessions/page-pass-service.ts";
import { SessionAuthenticator } from "./sessions/session-authenticator.ts";
import { DeploymentTokens } from "./tokens/deployment-token-service.ts";
import { SessionService } from "./tokens/session-service.ts";
import { SigningKeys } from "./tokens/signing-key-service.ts";

export type RecognitionOptions = {
  database: Database;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
  sessionLimits: SessionLimits;
  publicUrl: () => string | undefined;
  bootstrapped: () => Bootstrapped | undefined;
};

export type Recognition = {
  hasher: ApiKeyHasher;
  sessions: SessionService;
  consoleSessions: ConsoleSessions;
  deploymentTokens: DeploymentTokens;
  authenticator: KeyAuthenticator;
  changes: IdentityChanges;
  pagePasses: PagePasses;
};

/** All by which a caller is recognised, and how what is remembered of callers is forgotten when it changes. */
export function createRecognition(options: RecognitionOptions): Recognition {
  const { database, secretBox, clock, logger, publicUrl, bootstrapped } = options;
  const hasher = new ApiKeyHasher({ database, secretBox });
  const signingKeys = new SigningKeys({ database, secretBox, clock });
  const sessions = new SessionService({ database, clock, signingKeys });
  const deploymentTokens = new DeploymentTokens({ clock, signingKeys });
  const consoleSessions = new ConsoleSessions({
    database,
    clock,
    logger,
    hasher,
    limits: options.sessionLimits,
    changes: () => changes,
  });
  const people = new SessionAuthenticator({
    database,
    sessions: consoleSessions,
    tokens: deploymentTokens,
    publicUrl,
  });
  const authenticator = new KeyAuthenticator({
    database,
    clock,
    logger,
    hasher,
    sessions,
    people,
    onForget: () => consoleSessions.forget(),
    loopbackCaller: () => {
      const first = bootstrapped();
      return (
        first && {
          organizationId: first.organizationId,
          workspaceId: first.workspaceId,
          userId: first.userId,
          role: "admin",
          via: "loopback",
          scopes: null,
          mayUseAccounts: true,
        }
      );
    },
  });
  const changes = new IdentityChanges({ database, forget: () => authenticator.forget() });
  const pagePasses = new PagePasses({
    database,
    clock,
    hasher,
    people,
    sessions: consoleSessions,
    tokens: deploymentTokens,
    keys: authenticator,
  });
  return { hasher, sessions, consoleSessions, deploymentTokens, authenticator, changes, pagePasses };
}
