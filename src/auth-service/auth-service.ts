import type { Area } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import { every } from "../platform/jobs/job-schedule.ts";
import type { Logger } from "../platform/logger.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import { AgentAccessService } from "./authorizations/agent-access-service.ts";
import { authorizationRoutes } from "./authorizations/authorization-routes.ts";
import {
  type AuthenticateOutcome,
  type AuthenticateRequest,
  AuthorizationService,
} from "./authorizations/authorization-service.ts";
import { callbackPageRoutes } from "./authorizations/callback-page-routes.ts";
import { consentPageRoutes } from "./authorizations/consent-page-routes.ts";
import { ConsentService, findRevocationJobKind } from "./authorizations/consent-service.ts";
import { openConsentRoutes } from "./authorizations/open-consent-routes.ts";
import { createEndpointCheck } from "./providers/endpoint-check-service.ts";
import { McpDiscovery } from "./providers/mcp-discovery-service.ts";
import { OAuthClient } from "./providers/oauth-client.ts";
import { providerChangeRoutes } from "./providers/provider-change-routes.ts";
import { applyProviderFile } from "./providers/provider-file-service.ts";
import { providerRoutes } from "./providers/provider-routes.ts";
import { ProviderService, removeProviderJobKind } from "./providers/provider-service.ts";
import { agentTokenRoutes } from "./tokens/agent-token-routes.ts";
import { connectionRoutes } from "./tokens/connection-routes.ts";
import { ConnectionService } from "./tokens/connection-service.ts";
import { Departures, removeDepartedJobKind } from "./tokens/departure-service.ts";
import { PendingRevocations, revokePendingJobKind } from "./tokens/pending-revocation-service.ts";
import { tokenEventRoutes } from "./tokens/token-event-routes.ts";
import { deliverEventJobKind, TokenEventService } from "./tokens/token-event-service.ts";
import { TokenLeases } from "./tokens/token-lease-service.ts";
import { TokenRefresh } from "./tokens/token-refresh-service.ts";
import { TokenRefreshWorker } from "./tokens/token-refresh-worker.ts";
import { tokenRemovalRoutes } from "./tokens/token-removal-routes.ts";
import { TokenRemoval } from "./tokens/token-removal-service.ts";
import { TokenRevocation } from "./tokens/token-revocation-service.ts";
import { tokenRoutes } from "./tokens/token-routes.ts";
import { TokenService } from "./tokens/token-service.ts";

export type AuthServiceOptions = {
  database: Database;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
  guard: NetworkGuard;
  publicUrl(): string;
  config: {
    /** Whether plain http and private addresses are fine. */
    allowPrivateAddresses: boolean;
    oauthProvidersFile: string | undefined;
    oauthPlatformOrganization: string | undefined;
  };
};

/** Starts after the first organization exists. */
export type AuthService = Area & {
  /** For agents that run inside the platform: an access token or a consent URL, never a refresh token. */
  authenticate(
    caller: Caller,
    request: Pick<AuthenticateRequest, "provider" | "scopes"> & Partial<AuthenticateRequest>,
  ): Promise<AuthenticateOutcome>;
  /** The same for the platform's own graphs, which know a provider by what a person calls it. */
  agentAccess: AgentAccessService;
  /** Takes the tokens of a removed member or workspace away, in the transaction that removes it. */
  leave: Departures["leave"];
  /** Refreshes every token that is due; the recurring job does so each minute. */
  refreshDueTokens(signal: AbortSignal): Promise<number>;
};

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export function createAuthService(options: AuthServiceOptions): AuthService {
  const { database, secretBox, clock, logger, guard, publicUrl, config } = options;
  const allowHttp = config.allowPrivateAddresses;
  const platformOrganization = config.oauthPlatformOrganization;
  const ground = { database, secretBox, clock, logger, guard, publicUrl };

  const client = new OAuthClient({ guard, allowHttp });
  const checkEndpoint = createEndpointCheck({ guard, allowHttp });
  const discovery = new McpDiscovery({ guard, client, checkEndpoint });
  const providers = new ProviderService({
    ...ground,
    client,
    checkEndpoint,
    discovery,
    platformOrganization,
  });
  const events = new TokenEventService({ ...ground, checkEndpoint });
  const leases = new TokenLeases({ database });
  const refresh = new TokenRefresh({ ...ground, client, providers, events, leases });
  const revocation = new TokenRevocation({ guard, client });
  const pending = new PendingRevocations({ ...ground, providers, events, revocation });
  const tokens = new TokenService({ ...ground, providers, events, pending });
  const removal = new TokenRemoval({ ...ground, providers, tokens, events, leases, revocation, pending });
  const departures = new Departures({ ...ground, removal });
  const connections = new ConnectionService({ ...ground, tokens, removal });
  const authorizations = new AuthorizationService({ ...ground, providers, refresh, platformOrganization });
  const consents = new ConsentService({ ...ground, client, providers, tokens, refresh, connections });
  const agentAccess = new AgentAccessService({ providers, authorizations, consents, client });
  const worker = new TokenRefreshWorker({ ...ground, refresh });

  return {
    routes: [
      ...providerRoutes(providers, publicUrl),
      ...providerChangeRoutes(providers, publicUrl),
      ...authorizationRoutes(authorizations, consents),
      ...openConsentRoutes(consents),
      ...callbackPageRoutes(),
      ...consentPageRoutes(),
      ...tokenRoutes(tokens),
      ...tokenRemovalRoutes(removal),
      ...connectionRoutes(connections),
      ...agentTokenRoutes(connections),
      ...tokenEventRoutes(events),
    ],
    jobHandlers: {
      [removeProviderJobKind]: (context) => removal.removeProvider(context),
      [removeDepartedJobKind]: (context) => departures.remove(context),
      [findRevocationJobKind]: (context) => consents.findRevocation(context),
      [revokePendingJobKind]: (context) => pending.revoke(context),
      [deliverEventJobKind]: (context) => events.deliver(context),
    },
    workers: [],
    recurringJobs: [
      every({
        kind: "auth.refresh_tokens",
        database,
        clock,
        everyMs: minuteMs,
        handler: async ({ signal }) => {
          await worker.refreshAll(signal);
        },
      }),
      every({
        kind: "auth.prune",
        database,
        clock,
        everyMs: hourMs,
        handler: async () => {
          await consents.prune();
          await events.prune();
        },
      }),
    ],
    authenticate: (caller, request) =>
      authorizations.authenticate(caller, {
        force_new: false,
        is_default: true,
        check_only: false,
        ...request,
      }),
    agentAccess,
    leave: (tx, departure) => departures.leave(tx, departure),
    refreshDueTokens: (signal) => worker.refreshAll(signal),
    async start() {
      if (config.oauthProvidersFile !== undefined) {
        await applyProviderFile({ path: config.oauthProvidersFile, database, clock, secretBox });
      }
      await leases.start();
      await consents.start();
    },
    async stop() {
      await consents.stop();
      await leases.stop();
    },
  };
}
