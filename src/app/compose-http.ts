import type { Area } from "../platform/areas/area.ts";
import { BlobHealth } from "../platform/blob/blob-health.ts";
import { ClickHouseHealth } from "../platform/clickhouse/clickhouse-health.ts";
import { DatabaseIdempotency } from "../platform/http/idempotency/idempotency-store.ts";
import type { ApiDocument } from "../platform/http/openapi/openapi.ts";
import { createHttpApp, type HttpApp } from "../platform/http/pipeline/http-app.ts";
import type { Route } from "../platform/http/route.ts";
import { systemRoutes } from "../platform/http/system-routes.ts";
import { version } from "../platform/package-facts.ts";
import { apiDocuments } from "./api-documents.ts";
import type { AreaDoor, Areas } from "./compose-areas.ts";
import type { Ground } from "./ground.ts";
import { elsewhere } from "./role-doors.ts";
import { routeGroupOf } from "./roles.ts";

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
  const { plan, workerProcesses: workers } = ground;
  const storage = new BlobHealth(ground.blobs);
  const storageFacts = async () => ({
    kind: config.blobs.isShared ? config.blobs.place.kind : "data_folder",
    problem: await storage.problem(),
  });
  const engine = ground.clickHouse && new ClickHouseHealth(ground.clickHouse);
  const engineFacts = async () => ({
    engine: engine ? "clickhouse" : "postgres",
    problem: (await engine?.problem()) ?? null,
  });
  const system = systemRoutes({
    database,
    metrics,
    hasRootPage: true,
    readiness: {
      roles: plan.names,
      needsDatabase: plan.needsDatabase,
      state: () => ground.state(),
      problems: async () =>
        [
          await storage.problem(),
          plan.usesRuns ? ((await engine?.problem()) ?? null) : null,
          workers?.problem ?? null,
        ].filter((code) => code !== null),
    },
    metadata: async () => {
      const facts = {
        roles: plan.names,
        ...(workers ? { worker_processes: { count: workers.count, ready: workers.ready } } : {}),
        storage: await storageFacts(),
        traces: await engineFacts(),
      };
      // What encloses deployed code is a fact of the machine it runs on.
      if (!plan.runsForeignCode) return facts;
      const { kind, setting, refusal } = await controlPlane.isolation();
      return { isolation: { kind, setting, deploys: refusal === null }, ...facts };
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
    ...{ logger, metrics, failedCredentials },
    routes: routes.filter(({ spec }) => plan.serves(routeGroupOf(spec.method, spec.path))),
    documents: plan.serves("platform") ? documents : [],
    elsewhere: elsewhere(plan),
    authenticator: controlPlane.authenticator(workspaces.authenticator),
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
    ...(plan.serves("platform") ? { nowherePage: () => console.nowherePage() } : {}),
    aliases: { "/api-host": ["/v1", "/v2", "/o"] },
  });
  return { routes, documents, http };
}
