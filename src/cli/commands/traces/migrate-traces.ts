import { clickHouseMigrations } from "../../../app/open-clickhouse.ts";
import { type Config, environmentWith, readConfig } from "../../../config/index.ts";
import { PreparedClickHouse } from "../../../platform/clickhouse/prepared-clickhouse.ts";
import { systemClock } from "../../../platform/clock.ts";
import { readRuntimeFile } from "../../../platform/data-folder/data-folder.ts";
import { openDatabase } from "../../../platform/db/connection/open-database.ts";
import type { Database } from "../../../platform/db/database.ts";
import { migrate } from "../../../platform/db/schema/migrate.ts";
import { AppError } from "../../../platform/errors.ts";
import { createLogger, type Logger } from "../../../platform/logger.ts";
import { EngineNote } from "../../../traces/engine-note.ts";
import { createRunMove } from "../../../traces/trace-services.ts";
import type { OwnPrice } from "../../../traces/usage/model-prices.ts";
import { readPriceFile } from "../../../traces/usage/price-file.ts";
import type { GlobalOptions } from "../../program.ts";
import { migrationsDirectory, withDatabaseUrl } from "../../server/local-database.ts";
import { formatCount, formatDuration, plural } from "../../terminal/amounts.ts";
import { createOutput, type Output } from "../../terminal/output.ts";

const tellEveryMs = 5_000;
const askMs = 5_000;
const namedAtMost = 20;

export async function migrateTraces(options: GlobalOptions): Promise<void> {
  const config = readConfig(environmentWith({ TREADLE_DATA_DIR: options.dataDir }));
  const { clickHouse: to } = config;
  if (to === undefined)
    throw new AppError({
      code: "config.invalid",
      kind: "invalid",
      message:
        "TREADLE_TRACES_URL is not set, so traces are kept in PostgreSQL. Set it to the ClickHouse database they are to be moved to: https://user:password@host:8443/database.",
    });
  const output = createOutput(options);
  const logger = createLogger({ level: config.logLevel === "info" ? "warn" : config.logLevel });
  await checkServers(config);
  await withDatabaseUrl(config, logger, async (url) => {
    await migrate({ url, directory: migrationsDirectory, logger });
    // The lock, the step that holds runs, and what writes them.
    const database = openDatabase({ url, poolSize: 6, logger, applicationName: "treadle traces migrate" });
    try {
      const prepared = await PreparedClickHouse.open({
        ...{ ...to, database, logger },
        directory: clickHouseMigrations,
      });
      try {
        await prepared.prepare();
        await new EngineNote(database, prepared.clickHouse.where).claim(logger);
        const modelPrices = await readPriceFile(config.modelPricesFile);
        await move(prepared, { database, logger, output, modelPrices });
      } finally {
        await prepared.close();
      }
    } finally {
      await database.close();
    }
  });
}

async function move(
  { clickHouse }: PreparedClickHouse,
  {
    output,
    ...options
  }: { database: Database; logger: Logger; output: Output; modelPrices: readonly OwnPrice[] },
): Promise<void> {
  const runs = createRunMove({ ...options, clickHouse, clock: systemClock });
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  const began = performance.now();
  const progress = { total: 0, toldAt: began };
  try {
    const result = await runs.moveAlone({
      signal: stop.signal,
      onCounted: (total) => {
        progress.total = total;
        output.note(`${plural(total, "run")} in PostgreSQL to be moved to ${clickHouse.where}.`);
      },
      onProgress: ({ moved }) => {
        const now = performance.now();
        if (now - progress.toldAt < tellEveryMs) return;
        progress.toldAt = now;
        output.note(progressText(moved, progress.total, now - began));
      },
    });
    const tookMs = performance.now() - began;
    const interrupted = stop.signal.aborted;
    output.data({
      moved: result.moved,
      kept: result.kept,
      interrupted,
      seconds: Math.round(tookMs / 100) / 10,
    });
    output.line(`Moved ${plural(result.moved, "run")} in ${formatDuration(tookMs)}.`);
    for (const { reason } of result.kept.slice(0, namedAtMost)) output.line(`Stays in PostgreSQL: ${reason}`);
    if (result.kept.length > namedAtMost)
      output.line(
        `… and ${plural(result.kept.length - namedAtMost, "other run")}; --json names all of them.`,
      );
    if (interrupted) output.line("Interrupted. Run it again to move the rest.");
    process.exitCode = interrupted ? 130 : 0;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

export function progressText(moved: number, total: number, elapsedMs: number): string {
  const rate = moved / (elapsedMs / 1000);
  const left = Math.max(0, total - moved);
  const remaining = rate > 0 ? `, about ${formatDuration((left / rate) * 1000)} left` : "";
  return `${formatCount(moved)} of ${formatCount(Math.max(total, moved))} runs, ${formatCount(rate)} a second${remaining}`;
}

/** A server without the setting would show none of the runs that are moved, and go on writing to PostgreSQL. */
async function checkServers(config: Config): Promise<void> {
  const local = await readRuntimeFile(config.dataDir).catch(() => null);
  const addresses = new Set([local?.url, config.publicUrl].filter((url) => url !== undefined));
  for (const address of addresses) {
    const answer = await fetch(new URL("/info", address), { signal: AbortSignal.timeout(askMs) }).catch(
      () => undefined,
    );
    if (!answer?.ok) continue;
    const info = (await answer.json().catch(() => undefined)) as
      | { metadata?: { traces?: { engine?: unknown } } }
      | undefined;
    if (info?.metadata === undefined || info.metadata.traces?.engine === "clickhouse") continue;
    throw new AppError({
      code: "client.server_keeps_traces",
      kind: "conflict",
      message: `The server at ${address} keeps traces in PostgreSQL: it would not show what is moved. Start all servers with TREADLE_TRACES_URL first, then run this again.`,
    });
  }
}
