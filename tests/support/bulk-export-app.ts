import { randomBytes, randomUUID } from "node:crypto";
import {
  type BulkExportArea,
  type BulkExportOptions,
  createBulkExport,
} from "../../src/bulk-export/bulk-export.ts";
import { defaultExportLimits, type ExportLimits } from "../../src/bulk-export/exports/export-limits.ts";
import { startArea, stopArea } from "../../src/platform/areas/area.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { createHttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";
import { RunExportSource } from "../../src/traces/storage/postgres/export/run-export-source.ts";
import { includesBulkExport } from "../../src/workspaces/identity/workspace.ts";
import { createWorkspaces, type Workspaces } from "../../src/workspaces/workspaces.ts";
import type { CephRgw } from "./components/ceph-rgw.ts";
import { createTestDatabase } from "./database.ts";
import { type Answer, type CallOptions, callApp } from "./workspaces-app.ts";

export type BulkExportApp = {
  database: Database;
  databaseUrl: string;
  workspaceId: string;
  organizationId: string;
  apiKey: string;
  secretBox: SecretBox;
  secretKey: string;
  workspaces: Workspaces;
  area: BulkExportArea;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Another process on the same database, not started. */
  another(options?: Partial<BulkExportOptions>): BulkExportArea;
  newProject(options?: { experiment?: boolean; startTime?: string }): Promise<string>;
  newDestination(
    rgw: CephRgw,
    bucket: string,
    prefix?: string,
    more?: Record<string, unknown>,
  ): Promise<string>;
  newExport(body: Record<string, unknown>): Promise<ExportAnswer>;
  getExport(id: string): Promise<ExportAnswer>;
  waitFor(id: string, statuses?: string[]): Promise<ExportAnswer>;
  stop(): Promise<void>;
};

export type ExportAnswer = {
  id: string;
  status: string;
  error: string | null;
  source_bulk_export_id: string | null;
  start_time: string;
  end_time: string | null;
  skipped_session_ids: string[];
  progress: { rows_written: number; files_written: number; percentage: number; runs_total: number };
};

export type BulkExportAppOptions = {
  limits?: Partial<ExportLimits>;
  edition?: "self-hosted" | "cloud";
  clock?: Clock;
  started?: boolean;
  area?: Partial<BulkExportOptions>;
  databaseUrl?: (url: string) => string;
};

const finished = ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"];

/** Exports over a database of their own, with the identity routes beside them; answers are checked. */
export async function createBulkExportApp(options: BulkExportAppOptions = {}): Promise<BulkExportApp> {
  const created = await createTestDatabase({ poolSize: 6 });
  const logger = createLogger({ level: process.env.TEST_LOG_LEVEL ?? "silent" });
  const databaseUrl = options.databaseUrl?.(created.url) ?? created.url;
  const database =
    databaseUrl === created.url ? created.database : openDatabase({ url: databaseUrl, poolSize: 6, logger });
  const clock = options.clock ?? systemClock;
  const secretKey = randomBytes(32).toString("hex");
  const secretBox = new SecretBox({ currentKey: secretKey });
  const workspaces = createWorkspaces({ database, secretBox, clock, logger });
  const edition = options.edition ?? "self-hosted";
  const areaOptions: BulkExportOptions = {
    database,
    clock,
    logger,
    secretBox,
    source: new RunExportSource({ database, databaseUrl }),
    limits: { ...defaultExportLimits, retryDelayMs: 200, ...options.limits },
    allowPrivateAddresses: true,
    ambientCredentials: true,
    needsPaidPlan: async (organizationId) =>
      !includesBulkExport(edition, await workspaces.plans.planOf(organizationId)),
    leaseMs: 3_000,
    heartbeatMs: 500,
    ...options.area,
  };
  const area = createBulkExport(areaOptions);
  const areas = [area];
  const http = createHttpApp({
    routes: [...workspaces.routes, ...area.routes],
    authenticator: workspaces.authenticator,
    agentAuthRequired: false,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: true,
  });
  const identity = await workspaces.bootstrap({});
  if (options.started !== false) await startArea(area);
  const { workspaceId } = identity;
  const call: BulkExportApp["call"] = (method, path, more = {}) =>
    callApp(async (request) => http.fetch(request), method, path, {
      key: identity.apiKey,
      tenant: workspaceId,
      ...more,
    });

  const app: BulkExportApp = {
    database,
    databaseUrl,
    workspaceId,
    organizationId: identity.organizationId,
    apiKey: identity.apiKey,
    secretBox,
    secretKey,
    workspaces,
    area,
    call,
    another(more = {}) {
      const next = createBulkExport({ ...areaOptions, ...more });
      areas.push(next);
      return next;
    },
    async newProject({ experiment = false, startTime = "2026-01-01T00:00:00Z" } = {}) {
      const id = randomUUID();
      await raw`insert into trace_projects (id, workspace_id, name, reference_dataset_id, start_time)
        values (${id}, ${workspaceId}, ${id}, ${experiment ? randomUUID() : null}, ${startTime})`.execute(
        database.sql,
      );
      return id;
    },
    async newDestination(rgw, bucket, prefix = "", more = {}) {
      const answer = await call("POST", "/api/v1/bulk-exports/destinations", {
        body: {
          destination_type: "s3",
          display_name: "test",
          config: { bucket_name: bucket, prefix, endpoint_url: rgw.endpoint, ...more },
          credentials: { access_key_id: rgw.accessKey, secret_access_key: rgw.secretKey },
        },
      });
      if (answer.status !== 200) throw new Error(`No destination: ${JSON.stringify(answer.body)}`);
      return (answer.body as { id: string }).id;
    },
    async newExport(body) {
      const answer = await call("POST", "/api/v1/bulk-exports", { body });
      if (answer.status !== 200) throw new Error(`No export: ${JSON.stringify(answer.body)}`);
      return answer.body as ExportAnswer;
    },
    async getExport(id) {
      return (await call("GET", `/api/v1/bulk-exports/${id}`)).body as ExportAnswer;
    },
    async waitFor(id, statuses = finished) {
      const endAt = Date.now() + 60_000;
      for (;;) {
        const found = await app.getExport(id);
        if (statuses.includes(found.status)) return found;
        if (Date.now() > endAt) throw new Error(`Export ${id} is still ${found.status}.`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async stop() {
      for (const one of areas) await stopArea(one, { graceMs: 0 });
      await workspaces.stop();
      if (database !== created.database) await database.close();
      await created.drop();
    },
  };
  return app;
}
