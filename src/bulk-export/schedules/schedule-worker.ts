import type { Worker } from "../../platform/area.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { graceStop } from "../../platform/work/grace-stop.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import type { ExportLimits } from "../export-limits.ts";
import { hourlyCapWait } from "../exports/export-caps.ts";
import { endExport } from "../exports/export-ending.ts";
import { enqueuePlan } from "../exports/export-jobs.ts";
import {
  insertExport,
  listOverdue,
  lockExport,
  lockWorkspaceExports,
  startWaiting,
  workspacesWaiting,
} from "../exports/export-store.ts";
import { scheduleWindow } from "./schedule.ts";
import { advanceWindow, exportChannel, findNextDue, listDue, lockDue } from "./schedule-store.ts";

export type ScheduleWorkerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  limits: ExportLimits;
  /** The longest time without looking, should an announcement get lost. */
  heartbeatMs: number;
};

export type ScheduleWorker = Worker & {
  /** Whoever looks after exports, here or in another process, does so now. */
  announce(): void;
  /** One look, awaited. */
  tick(): Promise<void>;
};

/**
 * Everything about exports that time decides: windows that are over, exports that may start, exports that took too
 * long. It compares the clock with the rows and remembers nothing, so neither a restart nor a clock that jumps
 * loses or repeats a window; several processes may do it at once, since each step is decided under a row lock and no
 * lease is needed.
 */
export function createScheduleWorker(options: ScheduleWorkerOptions): ScheduleWorker {
  const { database, clock, logger, limits } = options;
  let unlisten: Unlisten | undefined;

  async function tick(): Promise<void> {
    await endOverdue();
    await spawnDue();
    await startAll();
  }

  async function endOverdue(): Promise<void> {
    const now = clock.now();
    const startedBefore = new Date(now.getTime() - limits.exportTimeoutMs);
    const hours = Math.round(limits.exportTimeoutMs / 3_600_000);
    for (const exportId of await listOverdue(database.sql, startedBefore)) {
      const message = `The export was not finished within ${hours} hours.`;
      const failure = { code: "bulk_export.timeout", message } as const;
      await database.transaction((tx) => endExport(tx, { exportId, status: "TIMEDOUT", failure, now }));
      logger.warn({ export_id: exportId }, "bulk export timed out");
    }
  }

  async function spawnDue(): Promise<void> {
    for (const schedule of await listDue(database.sql, clock.now())) {
      await spawn(schedule.id, schedule.workspace_id);
    }
  }

  function spawn(id: string, workspaceId: string): Promise<void> {
    return database.transaction(async (tx) => {
      const now = clock.now();
      await lockWorkspaceExports(tx, workspaceId);
      const due = await lockDue(tx, id, now);
      const source = due && (await lockExport(tx, id));
      if (!due || source?.interval_hours == null) return;
      // Over the cap it waits: the window stays the next one.
      if (limits.caps && (await hourlyCapWait(tx, { workspaceId, caps: limits.caps, now })) !== null) return;
      const window = scheduleWindow(
        { start_time: source.start_time, interval_hours: source.interval_hours },
        due.next_window,
      );
      const child = {
        ...source,
        ...window,
        id: newId(),
        interval_hours: null,
        source_bulk_export_id: id,
      };
      await insertExport(tx, child, now);
      await advanceWindow(tx, id, now);
    });
  }

  async function startAll(): Promise<void> {
    for (const workspaceId of await workspacesWaiting(database.sql)) {
      await database.transaction(async (tx) => {
        await lockWorkspaceExports(tx, workspaceId);
        const slots = limits.runningPerWorkspace;
        for (const id of await startWaiting(tx, { workspaceId, slots, now: clock.now() })) {
          await enqueuePlan(tx, id);
        }
      });
    }
  }

  const loop = new WakeLoop({
    rules: { heartbeatMs: options.heartbeatMs },
    async look() {
      await tick();
      const now = clock.now();
      const at = await findNextDue(database.sql, now, limits.exportTimeoutMs);
      return at === null ? null : at.getTime() - now.getTime();
    },
    onFailure: (error) => logger.warn({ err: error }, "bulk exports could not be looked after, trying again"),
  });
  const wake = () => loop.wake();

  return {
    name: "bulk-export.schedules",
    async start() {
      unlisten = await database.listen(exportChannel, wake, wake);
      wake();
    },
    announce() {
      database
        .notify(exportChannel, "")
        // A lost announcement only delays it until the next heartbeat.
        .catch((error: unknown) => logger.debug({ err: error }, "an export could not be announced"));
    },
    tick,
    stop({ graceMs }) {
      const looking = loop.stop();
      return graceStop({
        graceMs,
        stopTaking: async () => unlisten?.(),
        underWay: () => [looking],
        // A look is a few short transactions: there is nothing to abort.
        abort: () => [],
      });
    },
  };
}
