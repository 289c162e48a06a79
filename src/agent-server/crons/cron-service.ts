import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { assistantNotFound } from "../assistants/assistant.ts";
import { threadNotFound } from "../threads/thread.ts";
import { type Cron, type Firing, type OnRunCompleted, payloadPart, toCronCaller } from "./cron.ts";
import { isFault, nextDue, parseSchedule, type Schedule } from "./cron-schedule.ts";
import {
  announceChange,
  type CronFilter,
  type CronPage,
  countCrons,
  deleteCron,
  extendFirings,
  findCron,
  insertCron,
  insertFiring,
  lockDueCrons,
  saveCron,
  searchCrons,
  setNextRunDate,
  takeAbandonedFirings,
} from "./cron-store.ts";

/** The id behind an assistant id or a graph id; null when the workspace has no such assistant. */
export type ResolveAssistant = (workspaceId: string, assistantId: string) => Promise<string | null>;

export type CronServiceOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  resolveAssistant: ResolveAssistant;
  /** Refuses a webhook that could never be delivered. */
  checkWebhook?: ((url: string) => Promise<void>) | undefined;
  firingLeaseMs?: number | undefined;
};

type Settings = {
  schedule?: string | undefined;
  timezone?: string | null | undefined;
  end_time?: Date | null | undefined;
  enabled?: boolean | undefined;
  on_run_completed?: OnRunCompleted | undefined;
  metadata?: Record<string, unknown> | undefined;
};
export type CronChange = Settings & Record<string, unknown>;
export type CronRequest = CronChange & { assistant_id: string; schedule: string };

/** How long a due time stays with a process that died before it had started the run. */
export const firingLeaseMs = 180_000;

/** Use cases of crons: kept by people, taken when due by one process. */
export class CronService {
  readonly #options: CronServiceOptions;

  constructor(options: CronServiceOptions) {
    this.#options = options;
  }

  async create(caller: Caller, threadId: string | null, request: CronRequest): Promise<Cron> {
    const { database, clock, resolveAssistant } = this.#options;
    const now = clock.now();
    const endTime = request.end_time ?? null;
    const schedule = requireSchedule(request.schedule, request.timezone ?? null, now);
    if (endTime !== null && endTime <= now) {
      throw invalidField(["body", "end_time"], "end_time must be in the future", endTime.toISOString());
    }
    await this.#checkWebhook(request);
    const assistantId = await resolveAssistant(caller.workspaceId, request.assistant_id);
    if (assistantId === null) throw assistantNotFound(request.assistant_id);
    const enabled = request.enabled ?? true;
    const cron = await database.transaction(async (tx) => {
      const inserted = await insertCron(tx, {
        cron_id: newId(),
        workspace_id: caller.workspaceId,
        assistant_id: assistantId,
        thread_id: threadId,
        user_id: caller.principal?.identity ?? caller.userId,
        caller: toCronCaller(caller),
        schedule: request.schedule,
        timezone: request.timezone ?? null,
        end_time: endTime,
        on_run_completed: request.on_run_completed ?? "delete",
        enabled,
        payload: { ...payloadPart(request), assistant_id: assistantId },
        metadata: request.metadata ?? {},
        next_run_date: enabled ? nextDue(schedule, now, endTime) : null,
        created_at: now,
      });
      if (inserted) await announceChange(tx);
      return inserted;
    });
    if (!cron) throw threadNotFound(threadId!);
    return cron;
  }

  async get(workspaceId: string, cronId: string): Promise<Cron> {
    const cron = await findCron(this.#options.database.sql, workspaceId, cronId);
    if (!cron) throw cronNotFound(cronId);
    return cron;
  }

  /** Fields that are left out stay. The next due time is recalculated when anything it depends on changes. */
  async patch(workspaceId: string, cronId: string, change: CronChange): Promise<Cron> {
    const { database, clock } = this.#options;
    const now = clock.now();
    await this.#checkWebhook(change);
    return database.transaction(async (tx) => {
      const current = await findCron(tx, workspaceId, cronId, "for update");
      if (!current) throw cronNotFound(cronId);
      const changed = applyChange(current, change, now);
      await saveCron(tx, changed);
      await announceChange(tx);
      return changed;
    });
  }

  async #checkWebhook({ webhook }: CronChange): Promise<void> {
    if (typeof webhook === "string") await this.#options.checkWebhook?.(webhook);
  }

  async remove(workspaceId: string, cronId: string): Promise<void> {
    if (!(await deleteCron(this.#options.database.sql, workspaceId, cronId))) throw cronNotFound(cronId);
  }

  async search(filter: CronFilter, page: CronPage): Promise<{ crons: Cron[]; total: number }> {
    const resolved = await this.#resolveFilter(filter);
    return resolved ? searchCrons(this.#options.database.sql, resolved, page) : { crons: [], total: 0 };
  }

  async count(filter: CronFilter): Promise<number> {
    const resolved = await this.#resolveFilter(filter);
    return resolved ? countCrons(this.#options.database.sql, resolved) : 0;
  }

  async #resolveFilter(filter: CronFilter): Promise<CronFilter | null> {
    if (filter.assistantId === undefined) return filter;
    const assistantId = await this.#options.resolveAssistant(filter.workspaceId, filter.assistantId);
    return assistantId === null ? null : { ...filter, assistantId };
  }

  /**
   * Takes due crons and moves each on from now: firings that were missed while no process ran are made up for once. The
   * due time and the new one are committed together, so no other process takes the same firing.
   */
  takeDue(limit: number): Promise<{ taken: number; firings: Firing[] }> {
    const { database, clock } = this.#options;
    const now = clock.now();
    return database.transaction(async (tx) => {
      const due = await lockDueCrons(tx, now, limit);
      const firings: Firing[] = [];
      for (const cron of due) {
        await setNextRunDate(tx, cron.cron_id, nextDue(this.#scheduleOf(cron), now, cron.end_time));
        if (cron.end_time !== null && cron.end_time < now) continue;
        const firing = { firing_id: newId(), due_at: cron.next_run_date!, attempts: 1, cron };
        if (await insertFiring(tx, firing, this.#leaseEnd(now))) firings.push(firing);
      }
      return { taken: due.length, firings };
    });
  }

  /** It was checked when it was stored; should the system have lost its time zone since, it must not stop the others. */
  #scheduleOf(cron: Cron): Schedule {
    const schedule = parseSchedule(cron.schedule, cron.timezone);
    if (!isFault(schedule)) return schedule;
    this.#options.logger.error(
      { cronId: cron.cron_id, reason: schedule.message },
      "a cron ends: its schedule is invalid",
    );
    return { next: () => null };
  }

  takeAbandoned(limit: number): Promise<Firing[]> {
    const { database, clock } = this.#options;
    const now = clock.now();
    return takeAbandonedFirings(database.sql, now, this.#leaseEnd(now), limit);
  }

  get leaseMs(): number {
    return this.#options.firingLeaseMs ?? firingLeaseMs;
  }

  /** Renews the leases of firings whose runs are still being started; answers those that are still ours. */
  async extend(firings: readonly Firing[]): Promise<Set<Firing>> {
    const { database, clock } = this.#options;
    const ours = await extendFirings(database.sql, firings, this.#leaseEnd(clock.now()));
    return new Set(firings.filter(({ firing_id }) => ours.has(firing_id)));
  }

  #leaseEnd(now: Date): Date {
    return new Date(now.getTime() + this.leaseMs);
  }
}

const scheduling = ["schedule", "timezone", "end_time", "enabled"] as const;

function applyChange(current: Cron, change: CronChange, now: Date): Cron {
  const settings: Settings = change;
  const changed: Cron = {
    ...current,
    schedule: settings.schedule ?? current.schedule,
    timezone: settings.timezone === undefined ? current.timezone : settings.timezone,
    end_time: settings.end_time === undefined ? current.end_time : settings.end_time,
    enabled: settings.enabled ?? current.enabled,
    on_run_completed: settings.on_run_completed ?? current.on_run_completed,
    metadata: settings.metadata ?? current.metadata,
    payload: { ...current.payload, ...payloadPart(change), assistant_id: current.assistant_id },
    updated_at: now,
  };
  if (scheduling.every((name) => change[name] === undefined)) return changed;
  const schedule = requireSchedule(changed.schedule, changed.timezone, now);
  return { ...changed, next_run_date: changed.enabled ? nextDue(schedule, now, changed.end_time) : null };
}

function requireSchedule(text: string, timezone: string | null, now: Date): Schedule {
  const schedule = parseSchedule(text, timezone);
  if (isFault(schedule)) {
    throw invalidField(
      ["body", schedule.field],
      schedule.message,
      schedule.field === "schedule" ? text : timezone,
    );
  }
  if (schedule.next(now) === null) {
    throw invalidField(["body", "schedule"], `The schedule "${text}" never fires`, text);
  }
  return schedule;
}

function cronNotFound(id: string): AppError {
  return new AppError({ code: "cron.not_found", kind: "not_found", message: `Cron with ID ${id} not found` });
}
