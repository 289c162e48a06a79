import { createBulkExport } from "../../src/bulk-export/bulk-export.ts";
import { defaultExportLimits } from "../../src/bulk-export/exports/export-limits.ts";
import type { FileLimits } from "../../src/bulk-export/partitions/partition-task.ts";
import { startArea } from "../../src/platform/areas/area.ts";
import { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { ClickHouseRunExportSource } from "../../src/traces/storage/clickhouse/export/clickhouse-run-export-source.ts";
import { RunExportSource } from "../../src/traces/storage/postgres/export/run-export-source.ts";

/** A process of its own that works on exports, to be killed or stopped by a test. */
export type ChildSettings = {
  databaseUrl: string;
  /** Where runs are; those of the database without it. */
  clickHouseUrl?: string;
  secretKey: string;
  fileLimits: FileLimits;
  leaseMs: number;
};

const settings = JSON.parse(process.argv[2] ?? "{}") as ChildSettings;
const logger = createLogger({ level: "info" });
const database = openDatabase({ url: settings.databaseUrl, poolSize: 4, logger });
const { databaseUrl, clickHouseUrl: url } = settings;
const source = url
  ? new ClickHouseRunExportSource({
      ...{ clickHouse: await ClickHouse.open({ url }), url, database, databaseUrl },
      byEngine: true,
    })
  : new RunExportSource({ database, databaseUrl });
const area = createBulkExport({
  database,
  clock: systemClock,
  logger,
  secretBox: new SecretBox({ currentKey: settings.secretKey }),
  source,
  limits: { ...defaultExportLimits, partitionsAtOnce: 1, retryDelayMs: 200 },
  allowPrivateAddresses: true,
  ambientCredentials: false,
  needsPaidPlan: async () => false,
  fileLimits: settings.fileLimits,
  leaseMs: settings.leaseMs,
  heartbeatMs: 200,
});
await startArea(area);
process.stdout.write("ready\n");
