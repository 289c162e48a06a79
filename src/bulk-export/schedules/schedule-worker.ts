import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
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
import { advanceWindow, listDue, lockDue } from "./schedule-store.ts";

export type ScheduleWorkerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  limits: ExportLimits;
  tickMs: number;
};

export type ScheduleWorker = {
  start(): void;
  /** Looks now instead of at the next tick. */
  wake(): void;
  /** One look, awaited; what `wake` does, for those who need to know when it is done. */
  tick(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Everything about exports that time decides: windows that are over, exports that may start, exports that took too
 * long. It compares the clock with the rows and remembers nothing, so neither a restart nor a clock that jumps
 * loses or repeats a window; several processes may do it at once.
 */
export function createScheduleWorker(options: ScheduleWorkerOptions): ScheduleWorker {
  const { database, clock, logger, limits } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;

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

  const wake = () => {
    if (stopped) return;
    again = true;
    running ??= loop().finally(() => {
      running = undefined;
    });
  };

  async function loop(): Promise<void> {
    while (again && !stopped) {
      again = false;
      try {
        await tick();
      } catch (error) {
        logger.warn({ err: error }, "bulk exports could not be looked after, trying again at the next tick");
      }
    }
  }

  return {
    start() {
      timer = setInterval(wake, options.tickMs);
      wake();
    },
    wake,
    tick,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
