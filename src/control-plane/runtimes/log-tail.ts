import { copyFile, open, truncate } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { type LogLine, parseServerLine, redact } from "../logs/log.ts";
import { insertLogs } from "../logs/log-store.ts";
import type { Announced, Instance } from "./instance.ts";
import { saveAnnounced, saveLogOffset } from "./instance-store.ts";

const pollMs = 100;
const chunkBytes = 256 * 1024;
const maxLineBytes = 64 * 1024;
/** Beyond this the file begins anew; one older piece is kept beside it. */
const defaultMaxFileBytes = 16 * 1024 * 1024;

export type LogTail = { stop(): Promise<void> };

/**
 * Follows a server's log file into the database. The place in the file is stored with the lines, so that after a
 * crash no line is lost or doubled.
 */
export function followLog(options: {
  database: Database;
  clock: Clock;
  logger: Logger;
  instance: Instance;
  secrets: readonly string[];
  onAnnounced(announced: Announced): void;
  maxFileBytes?: number;
}): LogTail {
  const { database, instance, maxFileBytes = defaultMaxFileBytes } = options;
  const place = {
    deploymentId: instance.deployment_id,
    revisionId: instance.revision_id,
    kind: "deploy" as const,
  };
  const stopping = new AbortController();
  let offset = instance.log_offset;

  const readOnce = async (final: boolean): Promise<boolean> => {
    const chunk = await readFrom(instance.log_path, offset);
    if (chunk === null || chunk.length === 0) return false;
    let end = chunk.lastIndexOf(10) + 1;
    if (end === 0 && (final || chunk.length >= maxLineBytes)) end = chunk.length;
    if (end === 0) return false;
    const lines: LogLine[] = [];
    for (const text of chunk.subarray(0, end).toString("utf8").split("\n")) {
      if (text === "") continue;
      const announced = readAnnouncement(text);
      if (announced) {
        await saveAnnounced(database.sql, instance.id, announced);
        options.onAnnounced(announced);
        lines.push({
          at: options.clock.now(),
          level: "INFO",
          message: `Serving ${announced.graphs.join(", ")}`,
        });
      } else lines.push(parseServerLine(redact(text, options.secrets), options.clock.now()));
    }
    offset += end;
    await database.transaction(async (tx) => {
      await insertLogs(tx, place, lines);
      await saveLogOffset(tx, instance.id, offset);
    });
    if (offset > maxFileBytes) await beginAnew();
    return true;
  };

  /** Lines written between the copy and the cut are lost; the server holds the file open, so there is no better way. */
  const beginAnew = async () => {
    await copyFile(instance.log_path, `${instance.log_path}.1`);
    await truncate(instance.log_path);
    offset = 0;
    await saveLogOffset(database.sql, instance.id, 0);
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        if (await readOnce(false)) continue;
      } catch (error) {
        options.logger.warn(
          { err: error, instance: instance.id },
          "a server's log could not be read, trying again",
        );
        await delay(1_000, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
      await delay(pollMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    // Until nothing is left.
    while (await readOnce(true));
  };
  const running = run().catch((error: unknown) => {
    options.logger.warn(
      { err: error, instance: instance.id },
      "the end of a server's log could not be stored",
    );
  });
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function readFrom(path: string, offset: number): Promise<Buffer | null> {
  try {
    const file = await open(path, "r");
    try {
      const buffer = Buffer.allocUnsafe(chunkBytes);
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** The line a server prints when it is ready. */
function readAnnouncement(line: string): Announced | null {
  if (!line.startsWith('{"url"')) return null;
  try {
    const said = JSON.parse(line) as { graphs?: unknown; broken?: unknown };
    if (!Array.isArray(said.graphs)) return null;
    return { graphs: said.graphs.map(String), broken: (said.broken ?? {}) as Record<string, string> };
  } catch {
    return null;
  }
}
