import type { Clock } from "../platform/clock.ts";
import type { Database, Sql } from "../platform/db/database.ts";
import { AppError } from "../platform/errors.ts";
import { type Authenticator, roleCovers } from "../platform/http/caller.ts";
import type { Route } from "../platform/http/route.ts";
import type { Logger } from "../platform/logger.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { createApiKeyHasher } from "./api-key-hasher.ts";
import { apiKeyRoutes } from "./api-key-routes.ts";
import { createApiKeyService } from "./api-key-service.ts";
import { createAuthenticator } from "./authenticator.ts";
import { type BootstrapConfig, type Bootstrapped, bootstrapIdentity } from "./bootstrap.ts";
import { createIdentityChanges } from "./identity-change-service.ts";
import { memberRoutes } from "./member-routes.ts";
import { createMemberService } from "./member-service.ts";
import { findMember } from "./member-store.ts";
import { createPlatformKeys, type PlatformKeys } from "./platform-key-service.ts";
import { sessionRoutes } from "./session-routes.ts";
import { createSessionService } from "./session-service.ts";
import { createSigningKeys } from "./signing-key-service.ts";
import { type Plan, workspaceNotFound } from "./workspace.ts";
import { workspaceRoutes } from "./workspace-routes.ts";
import { createWorkspaceService } from "./workspace-service.ts";
import { findPlan, findStoredWorkspace, savePlan } from "./workspace-store.ts";

export type Workspaces = {
  routes: Route[];
  authenticator: Authenticator;
  /** Makes the first organization, workspace, administrator and key, and starts recognising callers. */
  bootstrap(config: BootstrapConfig): Promise<Bootstrapped>;
  platformKeys: PlatformKeys;
  organizationOf(workspaceId: string): Promise<string>;
  nameOf(workspaceId: string): Promise<string>;
  /** Whether the user is a member whose role permits it. */
  mayStartRuns(workspaceId: string, userId: string): Promise<boolean>;
  planOf(organizationId: string): Promise<Plan>;
  setPlan(organizationId: string, plan: Plan): Promise<void>;
  stop(): Promise<void>;
};

export type WorkspacesOptions = {
  database: Database;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
  /** Called before a workspace is deleted; throws to refuse. */
  beforeWorkspaceDelete?: (workspaceId: string) => Promise<void>;
  /** Part of the transaction that takes the access away; without a user, a whole workspace goes. */
  onDeparture?: (tx: Sql, departure: { workspaceId: string; userId: string | null }) => Promise<void>;
};

export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const { database, secretBox, clock, logger, onDeparture = async () => {} } = options;
  let bootstrapped: Bootstrapped | undefined;

  const hasher = createApiKeyHasher({ database, secretBox });
  const signingKeys = createSigningKeys({ database, secretBox, clock });
  const sessions = createSessionService({ database, clock, signingKeys });
  const authenticator = createAuthenticator({
    database,
    clock,
    logger,
    hasher,
    sessions,
    loopbackCaller: () =>
      bootstrapped && {
        organizationId: bootstrapped.organizationId,
        workspaceId: bootstrapped.workspaceId,
        userId: bootstrapped.userId,
        role: "admin",
        via: "loopback",
        scopes: null,
        mayUseAccounts: true,
      },
  });
  const changes = createIdentityChanges({ database, forget: authenticator.forget });

  return {
    authenticator,
    platformKeys: createPlatformKeys({ database, clock, hasher }),
    routes: [
      ...apiKeyRoutes(createApiKeyService({ database, clock, hasher, changes })),
      ...workspaceRoutes(
        createWorkspaceService({
          database,
          clock,
          changes,
          bootstrapWorkspaceId: () => bootstrapped?.workspaceId,
          beforeDelete: options.beforeWorkspaceDelete ?? (async () => {}),
          onDelete: (tx, workspaceId) => onDeparture(tx, { workspaceId, userId: null }),
        }),
      ),
      ...memberRoutes(createMemberService({ database, clock, changes, onRemove: onDeparture })),
      ...sessionRoutes(sessions),
    ],

    async bootstrap(config) {
      await authenticator.start();
      bootstrapped = await bootstrapIdentity({ database, clock, logger, hasher, config });
      return bootstrapped;
    },

    async organizationOf(workspaceId) {
      const workspace = await findStoredWorkspace(database.sql, workspaceId);
      if (!workspace || workspace.deleted) throw workspaceNotFound(workspaceId);
      return workspace.organization_id;
    },
    async nameOf(workspaceId) {
      const workspace = await findStoredWorkspace(database.sql, workspaceId);
      if (!workspace || workspace.deleted) throw workspaceNotFound(workspaceId);
      return workspace.name;
    },
    async mayStartRuns(workspaceId, userId) {
      const member = await findMember(database.sql, workspaceId, userId);
      return member !== undefined && roleCovers(member.role, "editor");
    },
    async planOf(organizationId) {
      const plan = await findPlan(database.sql, organizationId);
      if (!plan) throw organizationNotFound(organizationId);
      return plan;
    },
    async setPlan(organizationId, plan) {
      if (!(await savePlan(database.sql, organizationId, plan))) throw organizationNotFound(organizationId);
    },
    stop: () => authenticator.stop(),
  };
}

function organizationNotFound(id: string): AppError {
  return new AppError({
    code: "organization.not_found",
    kind: "not_found",
    message: `Organization ID ${id} not found.`,
  });
}
