import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { Route } from "../../platform/http/route.ts";
import type { Logger } from "../../platform/logger.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import type { IdentityChanges } from "../identity/identity-change-service.ts";
import { findStoredWorkspace } from "../identity/workspace-store.ts";
import type { Bootstrapped } from "../installation/bootstrap.ts";
import type { MemberService } from "../members/member-service.ts";
import type { ConsoleSessions } from "../sessions/console-session-service.ts";
import type { SignInPlace } from "./browser-request.ts";
import { invitationRoutes } from "./invitation-routes.ts";
import { OidcAccounts } from "./oidc-account-service.ts";
import { OidcClient } from "./oidc-client.ts";
import type { OidcConfig } from "./oidc-config.ts";
import { oidcRoutes, oidcStart } from "./oidc-routes.ts";
import { SignInCodes, signInLink } from "./sign-in-code-service.ts";
import { signInRoutes, signOutHeaders } from "./sign-in-routes.ts";
import { SignInService } from "./sign-in-service.ts";

export type SignIn = {
  routes: Route[];
  clearCookie(headers: Headers): Record<string, string>;
  makeLink(url: string): Promise<string>;
  prune(): Promise<void>;
};

export type SignInOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  hasher: ApiKeyHasher;
  secretBox: SecretBox;
  changes: IdentityChanges;
  members: MemberService;
  sessions: ConsoleSessions;
  place: SignInPlace;
  oidc: OidcConfig | null;
  bootstrapped: () => Bootstrapped | undefined;
};

/** The ways people sign in: a key, a one-time link, and the provider where there is one. */
export function createSignIn(options: SignInOptions): SignIn {
  const { database, clock, hasher, sessions, place, oidc } = options;
  const codes = new SignInCodes({ database, clock, hasher });
  const keysMaySignIn = oidc?.required !== true;
  const service = new SignInService({ database, clock, hasher, sessions, codes, keysMaySignIn });
  const ways = { key: keysMaySignIn, oidc: oidc === null ? null : { name: oidc.name, start: oidcStart } };
  return {
    routes: [
      ...signInRoutes(service, { ...place, ways }),
      ...invitationRoutes({
        members: options.members,
        codes,
        publicUrl: () => place.publicUrl(),
        allowed: keysMaySignIn,
      }),
      ...(oidc === null ? [] : providerRoutes(options, oidc)),
    ],
    clearCookie: (headers) => signOutHeaders(headers, place),
    async makeLink(url) {
      const { code } = await codes.make(known(options));
      return signInLink(url, code);
    },
    prune: () => codes.prune(),
  };
}

function providerRoutes(options: SignInOptions, oidc: OidcConfig): Route[] {
  const { database, clock, logger, changes, members, sessions, place, secretBox } = options;
  const asAdmin = (at: { organizationId: string; workspaceId: string }): Caller => ({
    ...at,
    userId: known(options).userId,
    role: "admin",
    via: "loopback",
    scopes: null,
    mayUseAccounts: false,
  });
  return oidcRoutes({
    client: new OidcClient({ config: oidc, clock }),
    accounts: new OidcAccounts({
      database,
      clock,
      logger,
      config: oidc,
      changes,
      place: () => placeOf(options, oidc),
      lowerRole: async (at, userId, role) => {
        await members.changeRole(asAdmin(at), userId, role);
      },
      removeMember: (at, userId) => members.remove(asAdmin(at), userId),
      endSessions: (tx, userId) => sessions.endAllOf(tx, userId),
    }),
    sessions,
    place,
    baseUrl: () => place.publicUrl() ?? "",
    secretBox,
    clock,
    logger,
  });
}

function known({ bootstrapped }: SignInOptions): Bootstrapped {
  const found = bootstrapped();
  if (found) return found;
  throw new AppError({
    code: "auth.not_ready",
    kind: "unavailable",
    message: "The server is still starting and has no workspace yet. Try again in a moment.",
  });
}

async function placeOf(options: SignInOptions, oidc: OidcConfig) {
  const { organizationId, workspaceId } = known(options);
  if (oidc.workspaceId === undefined) return { organizationId, workspaceId };
  const stored = await findStoredWorkspace(options.database.sql, oidc.workspaceId.toLowerCase());
  if (stored && !stored.deleted && stored.organization_id === organizationId) {
    return { organizationId, workspaceId: stored.id };
  }
  throw new AppError({
    code: "config.invalid",
    kind: "internal",
    message: `TREADLE_OIDC_WORKSPACE_ID ${oidc.workspaceId} names no workspace of this server. Correct the setting.`,
  });
}
