import type { Area } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Sql } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import type { Authenticator } from "../platform/http/access/caller.ts";
import type { FailedCredentials } from "../platform/http/access/failed-credentials.ts";
import { every, type RecurringJob } from "../platform/jobs/job-schedule.ts";
import type { Logger } from "../platform/logger.ts";
import { apiKeyRoutes } from "./api-keys/api-key-routes.ts";
import { ApiKeyService } from "./api-keys/api-key-service.ts";
import { PlatformKeys } from "./api-keys/platform-key-service.ts";
import { auditRoutes } from "./audit/audit-routes.ts";
import { AuditService } from "./audit/audit-service.ts";
import { createCredentialRecogniser } from "./authentication/credential-recogniser.ts";
import { hasChosenKeys } from "./identity/api-key-store.ts";
import type { Edition } from "./identity/workspace.ts";
import {
  type Bootstrap,
  type BootstrapConfig,
  type Bootstrapped,
  bootstrapIdentity,
} from "./installation/bootstrap.ts";
import { memberRoutes } from "./members/member-routes.ts";
import { MemberService } from "./members/member-service.ts";
import type { ModelProvider } from "./model-keys/model-key.ts";
import { modelKeyRoutes } from "./model-keys/model-key-routes.ts";
import { ModelKeys } from "./model-keys/model-key-service.ts";
import { createRecognition } from "./recognition.ts";
import { defaultSessionLimits, type SessionLimits } from "./sessions/console-session.ts";
import { consoleSessionRoutes } from "./sessions/console-session-routes.ts";
import type { ConsoleSessions } from "./sessions/console-session-service.ts";
import { currentSessionRoutes } from "./sessions/current-session-routes.ts";
import type { PagePasses } from "./sessions/page-pass-service.ts";
import type { OidcConfig } from "./sign-in/oidc-config.ts";
import { createSignIn, type SignIn } from "./sign-in/sign-in.ts";
import { planRoutes } from "./tenants/plan-routes.ts";
import { PlanService } from "./tenants/plan-service.ts";
import { WorkspaceDirectory } from "./tenants/workspace-directory.ts";
import { workspaceRoutes } from "./tenants/workspace-routes.ts";
import { WorkspaceService } from "./tenants/workspace-service.ts";
import type { DeploymentTokens } from "./tokens/deployment-token-service.ts";
import { sessionRoutes } from "./tokens/session-routes.ts";

/** `start` bootstraps with the configured values. */
export type Workspaces = Area & {
  audit: AuditService;
  authenticator: Authenticator;
  /** Whether a text is a credential of the platform, valid or not. */
  isCredential(text: string): Promise<boolean>;
  /** Whether there are keys that do not begin as generated ones do. */
  hasChosenKeys(): Promise<boolean>;
  /** Makes the first organization, workspace, administrator and key, and starts recognising callers. */
  bootstrap: Bootstrap;
  /** What the start found or made. */
  identity(): Bootstrapped;
  platformKeys: PlatformKeys;
  deploymentTokens: DeploymentTokens;
  /** How people who are signed in to the console enter the pages of deployments. */
  pagePasses: PagePasses;
  /** A link that signs the administrator in to the console, once. */
  makeSignInLink(url: string): Promise<string>;
  /** What the other areas look up about workspaces and their members. */
  directory: WorkspaceDirectory;
  plans: PlanService;
  /** Keys of model providers, for runs of the built-in agents. */
  modelKeys: ModelKeys;
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
  /** The server's public URL; undefined in tests of areas, which have none. */
  publicUrl?: () => string;
  sessionLimits?: SessionLimits;
  oidc?: OidcConfig | null;
  failedCredentials?: FailedCredentials;
  audit?: { retentionDays: number; file?: string | undefined };
  /** Providers whose keys a workspace may keep; left out: none. */
  modelProviders?: readonly ModelProvider[];
  /** Part of the transaction that takes the access away; without a user, a whole workspace goes. */
  onDeparture?: (tx: Sql, departure: { workspaceId: string; userId: string | null }) => Promise<void>;
};

export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const { database, secretBox, clock, logger, onDeparture = async () => {} } = options;
  let bootstrapped: Bootstrapped | undefined;
  const firstWorkspaceId = () => bootstrapped?.workspaceId;
  const publicUrl = () => options.publicUrl?.();
  const audit = new AuditService({
    database,
    clock,
    logger,
    ...(options.audit ?? { retentionDays: 365 }),
    failedCredentials: options.failedCredentials,
    firstWorkspaceId,
  });
  const recognition = createRecognition({
    database,
    secretBox,
    clock,
    logger,
    sessionLimits: options.sessionLimits ?? defaultSessionLimits,
    publicUrl,
    bootstrapped: () => bootstrapped,
  });
  const { hasher, sessions, consoleSessions, authenticator, changes, pagePasses } = recognition;
  const members = new MemberService({
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
  const workspaceService = new WorkspaceService({
    database,
    clock,
    changes,
    bootstrapWorkspaceId: firstWorkspaceId,
    beforeDelete: options.beforeWorkspaceDelete ?? (async () => {}),
    onDelete: (tx, workspaceId) => onDeparture(tx, { workspaceId, userId: null }),
  });
  const plans = new PlanService({ database, edition: options.edition ?? "self-hosted", firstWorkspaceId });
  const modelKeys = new ModelKeys({ database, secretBox, clock, providers: options.modelProviders ?? [] });
  const bootstrap = async (config: BootstrapConfig) => {
    await authenticator.start();
    bootstrapped = await bootstrapIdentity({ database, clock, logger, hasher, config });
    return bootstrapped;
  };

  return {
    authenticator,
    audit,
    deploymentTokens: recognition.deploymentTokens,
    pagePasses,
    directory: new WorkspaceDirectory(database),
    plans,
    modelKeys,
    platformKeys: new PlatformKeys({ database, clock, hasher, changes }),
    isCredential: createCredentialRecogniser({ database, hasher }),
    hasChosenKeys: () => hasChosenKeys(database.sql),
    makeSignInLink: signIn.makeLink,
    jobHandlers: {},
    workers: [],
    recurringJobs: pruningJobs(options, { consoleSessions, signIn, pagePasses, audit }),
    routes: [
      ...apiKeyRoutes(new ApiKeyService({ database, clock, hasher, changes })),
      ...workspaceRoutes(workspaceService),
      ...planRoutes(plans, workspaceService),
      ...memberRoutes(members),
      ...sessionRoutes(sessions),
      ...currentSessionRoutes({ database, sessions: consoleSessions, clearCookie: signIn.clearCookie }),
      ...consoleSessionRoutes(consoleSessions),
      ...signIn.routes,
      ...auditRoutes(audit),
      ...modelKeyRoutes(modelKeys),
    ],
    bootstrap: bootstrap as Bootstrap,
    identity() {
      if (!bootstrapped) throw new Error("The workspaces were used before they were started.");
      return bootstrapped;
    },
    async start() {
      await bootstrap((await options.bootstrapConfig?.()) ?? {});
    },
    async stop() {
      await authenticator.stop();
      await consoleSessions.stop();
      await audit.stop();
    },
  };
}

function pruningJobs(
  { database, clock }: WorkspacesOptions,
  kept: { consoleSessions: ConsoleSessions; signIn: SignIn; pagePasses: PagePasses; audit: AuditService },
): RecurringJob[] {
  const hourly = { database, clock, everyMs: 3_600_000 };
  return [
    every({
      ...hourly,
      kind: "workspaces.prune_sessions",
      async handler() {
        await kept.consoleSessions.prune();
        await kept.signIn.prune();
        await kept.pagePasses.prune();
      },
    }),
    every({
      ...hourly,
      kind: "workspaces.prune_audit_events",
      async handler({ signal }) {
        await kept.audit.prune(signal);
      },
    }),
  ];
}
