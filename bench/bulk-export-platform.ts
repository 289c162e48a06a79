import { setTimeout as pause } from "node:timers/promises";
import { createApp } from "../src/app/platform.ts";
import { type Config, readConfig } from "../src/config/index.ts";
import { createLogger } from "../src/platform/logger.ts";
import { workspaceId } from "./bulk-export-fill.ts";

/** One export through the whole platform, in a process of its own: asked for, planned, written and finished. */
export type PlatformInput = {
  /** The same for every export: the key that seals credentials is in it. */
  dataDir: string;
  databaseUrl: string;
  /** Where runs are, if not there. */
  tracesUrl?: string | undefined;
  projectId: string;
  destination: Record<string, unknown>;
  exportFields: string[] | null;
  window: { start_time: string; end_time: string };
};

export type PlatformMeasured = {
  rows: number;
  files: number;
  bytes: number;
  seconds: number;
  cpuSeconds: number;
  peakMb: number;
};

type Progress = { rows_written: number; files_written: number; bytes_written: number };
type ExportAnswer = { id: string; status: string; error: string | null; progress: Progress };

async function measure(input: PlatformInput): Promise<PlatformMeasured> {
  const apiKey = "bench-key-of-this-process-alone";
  const config: Config = {
    ...readConfig({ TREADLE_TRACES_URL: input.tracesUrl }),
    host: "127.0.0.1",
    port: 0,
    dataDir: input.dataDir,
    databaseUrl: input.databaseUrl,
    apiKey,
    workspaceId,
    logLevel: "warn",
  };
  const app = await createApp(config, { logger: createLogger({ level: "warn" }) });
  await app.prepare();
  await app.start();
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await app.fetch(
      new Request(`http://127.0.0.1${path}`, {
        method,
        headers: { "x-api-key": apiKey, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const project = { id: input.projectId, name: input.projectId };
  await call("POST", "/api/v1/sessions?upsert=true", project);
  const { id: destination } = await call<{ id: string }>(
    "POST",
    "/api/v1/bulk-exports/destinations",
    input.destination,
  );
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  let row = await call<ExportAnswer>("POST", "/api/v1/bulk-exports", {
    bulk_export_destination_id: destination,
    session_id: input.projectId,
    ...input.window,
    ...(input.exportFields ? { export_fields: input.exportFields } : {}),
  });
  while (row.status === "CREATED" || row.status === "RUNNING") {
    await pause(100);
    row = await call<ExportAnswer>("GET", `/api/v1/bulk-exports/${row.id}`);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const used = process.cpuUsage(cpu);
  if (row.status !== "COMPLETED") throw new Error(`The export is ${row.status}: ${row.error}`);
  await app.stop();
  return {
    rows: row.progress.rows_written,
    files: row.progress.files_written,
    bytes: row.progress.bytes_written,
    seconds,
    cpuSeconds: (used.user + used.system) / 1e6,
    peakMb: process.resourceUsage().maxRSS / 1024,
  };
}

const given = process.argv[2];
if (given?.startsWith("{")) {
  const measured = await measure(JSON.parse(given) as PlatformInput);
  process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit(0));
}
