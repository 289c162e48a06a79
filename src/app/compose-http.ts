import type { Area } from "../platform/areas/area.ts";
import { DatabaseIdempotency } from "../platform/http/idempotency/idempotency-store.ts";
import type { ApiDocument } from "../platform/http/openapi/openapi.ts";
import { createHttpApp, type HttpApp } from "../platform/http/pipeline/http-app.ts";
import type { Route } from "../platform/http/route.ts";
import { systemRoutes } from "../platform/http/system-routes.ts";
import { version } from "../platform/package-facts.ts";
import { apiDocuments } from "./api-documents.ts";
import type { AreaDoor, Areas } from "./compose-areas.ts";
import type { Ground } from "./ground.ts";

export type PlatformHttp = { routes: Route[]; documents: ApiDocument[]; http: HttpApp };

/** One HTTP application over the routes of all areas. */
export function composeHttp(
  ground: Ground,
  areas: Areas,
  { inOrder, metrics, failedCredentials }: { inOrder: readonly Area[] } & Omit<AreaDoor, "authorize">,
): PlatformHttp {
  const { config, database, secretBox, clock, logger } = ground;
  const {
    workspaces,
    controlPlane,
    authService,
    traces,
    agentServer,
    bulkExport,
    console,
    chat,
    chatShares,
    alerts,
  } = areas;
  const system = systemRoutes({
    database,
    metrics,
    hasRootPage: true,
    metadata: async () => {
      const { kind, setting, refusal } = await controlPlane.isolation();
      return { isolation: { kind, setting, deploys: refusal === null } };
    },
    info: {
      version: version(),
      graphLibrary: areas.graphLibrary,
      flags: { assistants: true, crons: true, langsmith: true, langsmith_tracing_replicas: true },
    },
  });
  const routes = [
    ...system,
    ...inOrder.flatMap((area) => area.routes),
    ...inOrder.flatMap((area) => area.hiddenRoutes ?? []),
  ];
  const documents = apiDocuments(system, {
    control: [workspaces, controlPlane, authService, console, alerts],
    agent: [agentServer],
    traces: [traces, bulkExport],
    chat: [chat, chatShares],
  });
  const http = createHttpApp({
    ...{ routes, documents, logger, metrics, failedCredentials },
    authenticator: workspaces.authenticator,
    agentAuthRequired: config.agentAuthRequired,
    audit: workspaces.audit,
    corsOrigins: config.corsOrigins,
    cors: { neverTrusted: (origin) => controlPlane.isDeploymentOrigin(origin) },
    validateResponses: config.validateResponses,
    idempotency: new DatabaseIdempotency({
      sql: database.sql,
      clock,
      secretBox,
    }),
    nowherePage: () => console.nowherePage(),
    aliases: { "/api-host": ["/v1", "/v2", "/o"] },
  });
  return { routes, documents, http };
}
