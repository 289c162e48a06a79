import type { StopOptions, Stopped, Worker } from "../../platform/areas/area.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { graceStop } from "../../platform/work/grace-stop.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import { hourlyCapWait } from "../exports/export-caps.ts";
import { endExport } from "../exports/export-ending.ts";
import { enqueuePlan } from "../exports/export-jobs.ts";
import type { ExportLimits } from "../exports/export-limits.ts";
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

/**
 * Everything about exports that time decides: windows that are over, exports that may start, exports that took too
 * long. It compares the clock with the rows and remembers nothing, so neither a restart nor a clock that jumps
 * loses or repeats a window; several processes may do it at once, since each step is decided under a row lock and no
 * lease is needed.
 */
export class ScheduleWorker implements Worker {
  readonly name = "bulk-export.schedules";
  readonly #options: ScheduleWorkerOptions;
  #unlisten: Unlisten | undefined;
  readonly #loop: WakeLoop;

  constructor(options: ScheduleWorkerOptions) {
    this.#options = options;
    this.#loop = new WakeLoop({
      rules: { heartbeatMs: options.heartbeatMs },
      look: () => this.#look(),
      onFailure: (error) =>
        options.logger.warn({ err: error }, "bulk exports could not be checked, trying again"),
    });
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#options.database.listen(
      exportChannel,
      () => this.#loop.wake(),
      () => this.#loop.wake(),
    );
    this.#loop.wake();
  }

  /** Wakes the workers of exports, here and in other processes. */
  announce(): void {
    const { database, logger } = this.#options;
    database
      .notify(exportChannel, "")
      // A lost announcement only delays it until the next heartbeat.
      .catch((error: unknown) => logger.debug({ err: error }, "an export could not be announced"));
  }

  /** One look, awaited. */
  async tick(): Promise<void> {
    await this.#endOverdue();
    await this.#spawnDue();
    await this.#startAll();
  }

  stop({ graceMs }: StopOptions): Promise<Stopped> {
    const looking = this.#loop.stop();
    return graceStop({
      graceMs,
      stopTaking: async () => this.#unlisten?.(),
      underWay: () => [looking],
      // A look is a few short transactions: there is nothing to abort.
      abort: () => [],
    });
  }

  /** How long until time decides something again; null when nothing is known to come. */
  async #look(): Promise<number | null> {
    const { database, clock, limits } = this.#options;
    await this.tick();
    const now = clock.now();
    const at = await findNextDue(database.sql, now, limits.exportTimeoutMs);
    return at === null ? null : at.getTime() - now.getTime();
  }

  async #endOverdue(): Promise<void> {
    const { clock, limits, database, logger } = this.#options;
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

  async #spawnDue(): Promise<void> {
    const { database, clock } = this.#options;
    for (const schedule of await listDue(database.sql, clock.now())) {
      await this.#spawn(schedule.id, schedule.workspace_id);
    }
  }

  #spawn(id: string, workspaceId: string): Promise<void> {
    const { database, clock, limits } = this.#options;
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

  async #startAll(): Promise<void> {
    const { database, limits, clock } = this.#options;
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
}
