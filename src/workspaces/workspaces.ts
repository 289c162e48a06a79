import type { Area } from "../platform/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Sql } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import { type Authenticator, roleCovers } from "../platform/http/access/caller.ts";
import type { FailedCredentials } from "../platform/http/access/failed-credentials.ts";
import { every } from "../platform/jobs/job-schedule.ts";
import type { Logger } from "../platform/logger.ts";
import { createApiKeyHasher } from "./api-keys/api-key-hasher.ts";
import { apiKeyRoutes } from "./api-keys/api-key-routes.ts";
import { createApiKeyService } from "./api-keys/api-key-service.ts";
import { createPlatformKeys, type PlatformKeys } from "./api-keys/platform-key-service.ts";
import { auditRoutes } from "./audit/audit-routes.ts";
import { type AuditService, createAudit } from "./audit/audit-service.ts";
import { createAuthenticator } from "./authentication/authenticator.ts";
import { createCredentialRecogniser } from "./authentication/credential-recogniser.ts";
import { createIdentityChanges } from "./authentication/identity-change-service.ts";
import { sessionRoutes } from "./authentication/session-routes.ts";
import { createSessionService } from "./authentication/session-service.ts";
import { createSigningKeys } from "./authentication/signing-key-service.ts";
import { type BootstrapConfig, type Bootstrapped, bootstrapIdentity } from "./installation/bootstrap.ts";
import { memberRoutes } from "./members/member-routes.ts";
import { createMemberService } from "./members/member-service.ts";
import { findMember } from "./members/member-store.ts";
import { defaultSessionLimits, type SessionLimits } from "./sessions/console-session.ts";
import { consoleSessionRoutes } from "./sessions/console-session-routes.ts";
import { createConsoleSessions } from "./sessions/console-session-service.ts";
import { createDeploymentTokens, type DeploymentTokens } from "./sessions/deployment-token-service.ts";
import { createPagePasses, type PagePasses } from "./sessions/page-pass-service.ts";
import { createSessionAuthenticator } from "./sessions/session-authenticator.ts";
import type { OidcConfig } from "./sign-in/oidc-config.ts";
import { createSignIn } from "./sign-in/sign-in.ts";
import { planRoutes } from "./tenants/plan-routes.ts";
import { createPlanService } from "./tenants/plan-service.ts";
import { type Edition, type Plan, workspaceNotFound } from "./tenants/workspace.ts";
import { workspaceRoutes } from "./tenants/workspace-routes.ts";
import { createWorkspaceService } from "./tenants/workspace-service.ts";
import { findStoredWorkspace } from "./tenants/workspace-store.ts";

/** `start` bootstraps with the configured values. */
export type Workspaces = Area & {
  audit: AuditService;
  authenticator: Authenticator;
  /** Whether a text is a credential of the platform, valid or not. */
  isCredential(text: string): Promise<boolean>;
  /** Makes the first organization, workspace, administrator and key, and starts recognising callers. */
  bootstrap(config: BootstrapConfig): Promise<Bootstrapped>;
  /** What the start found or made. */
  identity(): Bootstrapped;
  platformKeys: PlatformKeys;
  deploymentTokens: DeploymentTokens;
  /** How people who are signed in to the console enter the pages of deployments. */
  pagePasses: PagePasses;
  /** A link that signs the administrator in to the console, once. */
  makeSignInLink(url: string): Promise<string>;
  organizationOf(workspaceId: string): Promise<string>;
  nameOf(workspaceId: string): Promise<string>;
  /** Whether the user is a member whose role permits it. */
  mayStartRuns(workspaceId: string, userId: string): Promise<boolean>;
  planOf(organizationId: string): Promise<Plan>;
  setPlan(organizationId: string, plan: Plan): Promise<void>;
};

export type WorkspacesOptions = {
  database: Database;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
  /** Plans matter in edition cloud only. */
  edition?: Edition;
  /** Asked for at the start. */
  bootstrapConfig?: () => Promise<BootstrapConfig>;
  /** Called before a workspace is deleted; throws to refuse. */
  beforeWorkspaceDelete?: (workspaceId: string) => Promise<void>;
  /** Where people reach the server; undefined where nobody does, in tests of areas. */
  publicUrl?: () => string;
  sessionLimits?: SessionLimits;
  oidc?: OidcConfig | null;
  failedCredentials?: FailedCredentials;
  audit?: { retentionDays: number; file?: string | undefined };
  /** Part of the transaction that takes the access away; without a user, a whole workspace goes. */
  onDeparture?: (tx: Sql, departure: { workspaceId: string; userId: string | null }) => Promise<void>;
};

export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const { database, secretBox, clock, logger, onDeparture = async () => {} } = options;
  let bootstrapped: Bootstrapped | undefined;

  const audit = createAudit({
    database,
    clock,
    logger,
    ...(options.audit ?? { retentionDays: 365 }),
    failedCredentials: options.failedCredentials,
    firstWorkspaceId: () => bootstrapped?.workspaceId,
  });
  const hasher = createApiKeyHasher({ database, secretBox });
  const signingKeys = createSigningKeys({ database, secretBox, clock });
  const sessions = createSessionService({ database, clock, signingKeys });
  const consoleSessions = createConsoleSessions({
    database,
    clock,
    logger,
    hasher,
    limits: options.sessionLimits ?? defaultSessionLimits,
    changes: () => changes,
  });
  const deploymentTokens = createDeploymentTokens({ clock, signingKeys });
  const publicUrl = () => options.publicUrl?.();
  const people = createSessionAuthenticator({
    database,
    sessions: consoleSessions,
    tokens: deploymentTokens,
    publicUrl,
  });
  const authenticator = createAuthenticator({
    database,
    clock,
    logger,
    hasher,
    sessions,
    people,
    onForget: consoleSessions.forget,
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
  const pagePasses = createPagePasses({
    ...{ database, clock, hasher, people },
    sessions: consoleSessions,
    tokens: deploymentTokens,
    keys: authenticator.keys,
  });
  const members = createMemberService({
    database,
    clock,
    changes,
    async onRemove(tx, member) {
      await consoleSessions.endAllOf(tx, member.userId);
      await onDeparture(tx, member);
    },
  });
  const signIn = createSignIn({
    database,
    clock,
    logger,
    hasher,
    secretBox,
    changes,
    members,
    sessions: consoleSessions,
    place: { publicUrl, failedCredentials: options.failedCredentials },
    oidc: options.oidc ?? null,
    bootstrapped: () => bootstrapped,
  });

  const workspaceService = createWorkspaceService({
    database,
    clock,
    changes,
    bootstrapWorkspaceId: () => bootstrapped?.workspaceId,
    beforeDelete: options.beforeWorkspaceDelete ?? (async () => {}),
    onDelete: (tx, workspaceId) => onDeparture(tx, { workspaceId, userId: null }),
  });
  const planService = createPlanService({
    database,
    edition: options.edition ?? "self-hosted",
    firstWorkspaceId: () => bootstrapped?.workspaceId,
  });

  const bootstrap = async (config: BootstrapConfig) => {
    await authenticator.start();
    bootstrapped = await bootstrapIdentity({ database, clock, logger, hasher, config });
    return bootstrapped;
  };

  return {
    authenticator,
    audit,
    deploymentTokens,
    pagePasses,
    makeSignInLink: signIn.makeLink,
    jobHandlers: {},
    workers: [],
    recurringJobs: [
      every({
        kind: "workspaces.prune_sessions",
        database,
        clock,
        everyMs: 3_600_000,
        async handler() {
          await consoleSessions.prune();
          await signIn.prune();
          await pagePasses.prune();
        },
      }),
      every({
        kind: "workspaces.prune_audit_events",
        database,
        clock,
        everyMs: 3_600_000,
        async handler({ signal }) {
          await audit.prune(signal);
        },
      }),
    ],
    isCredential: createCredentialRecogniser({ database, hasher }),
    platformKeys: createPlatformKeys({ database, clock, hasher, changes }),
    routes: [
      ...apiKeyRoutes(createApiKeyService({ database, clock, hasher, changes })),
      ...workspaceRoutes(workspaceService),
      ...planRoutes(planService, workspaceService),
      ...memberRoutes(members),
      ...sessionRoutes(sessions),
      ...consoleSessionRoutes({ database, sessions: consoleSessions, clearCookie: signIn.clearCookie }),
      ...signIn.routes,
      ...auditRoutes(audit),
    ],

    bootstrap,
    identity() {
      if (!bootstrapped) throw new Error("The workspaces are used before they were started.");
      return bootstrapped;
    },
    async start() {
      await bootstrap((await options.bootstrapConfig?.()) ?? {});
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
    planOf: planService.planOf,
    setPlan: planService.setPlan,
    async stop() {
      await authenticator.stop();
      await consoleSessions.stop();
      await audit.stop();
    },
  };
}
