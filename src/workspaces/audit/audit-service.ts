import { appendFile } from "node:fs/promises";
import type { Clock } from "../../platform/clock.ts";
import { Batcher, outageRetries } from "../../platform/db/batch/batcher.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { FailedCredentials } from "../../platform/http/access/failed-credentials.ts";
import type { AuditEntry, AuditSink, OwnAction } from "../../platform/http/audit/audit.ts";
import type { AuditAction } from "../../platform/http/audit/audit-action.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { type AuditEvent, eventOf, nobody } from "./audit.ts";
import * as store from "./audit-store.ts";
import { type BudgetLimits, defaultBudget, RefusalBudget } from "./refusal-budget.ts";

export type AuditQuery = Omit<store.AuditFilter, "workspaceId" | "withInstallation">;

export type AuditOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** 0: for ever. */
  retentionDays: number;
  /** Also gets every event as a line of JSON. */
  file?: string | undefined;
  failedCredentials?: FailedCredentials | undefined;
  /** Its administrators run the server: they also see what belongs to no workspace. */
  firstWorkspaceId(): string | undefined;
  budget?: BudgetLimits;
};

const dayMs = 24 * 60 * 60_000;
const pruneBatch = 5_000;

/** The audit log: what was done is written before the answer goes out; refusals are counted once there are many. */
export class AuditService implements AuditSink {
  readonly #options: AuditOptions;
  readonly #limits: BudgetLimits;
  readonly #budget: RefusalBudget;
  #closing: NodeJS.Timeout | undefined;
  readonly #batcher: Batcher<AuditEvent, void>;

  constructor(options: AuditOptions) {
    const { database, file, logger, budget = defaultBudget } = options;
    this.#options = options;
    this.#limits = budget;
    this.#budget = new RefusalBudget(budget);
    this.#batcher = new Batcher<AuditEvent, void>({
      name: "audit events",
      retries: outageRetries,
      maxQueuedRows: 20_000,
      async flush(events) {
        await store.insertEvents(database, events);
        if (file !== undefined) await appendLines(file, events, logger);
        return events.map(() => undefined);
      },
    });
  }

  record(entry: AuditEntry): Promise<void> {
    return this.#batcher.add(this.#toEvent(entry));
  }

  noteRefusal(entry: AuditEntry): void {
    const event = this.#toEvent(entry);
    if (this.#budget.admit(event)) this.#writeLater(event);
    this.#closing ??= setTimeout(() => this.#closeWindow(), this.#limits.windowMs).unref();
  }

  recordOwn({ action, workspaceId, target, details }: OwnAction): Promise<void> {
    return this.#batcher.add({
      ...unasked(action, this.#options.clock.now()),
      workspace_id: workspaceId,
      actor_kind: "system",
      target_kind: target.kind,
      target_id: target.id,
      details,
    });
  }

  list(caller: Caller, query: AuditQuery): Promise<store.ListedEvent[]> {
    const { workspaceId } = caller;
    const withInstallation = workspaceId === this.#options.firstWorkspaceId();
    return store.listEvents(this.#options.database.sql, { ...query, workspaceId, withInstallation });
  }

  /** By a graph inside the platform, which makes no request. */
  recordTokenRead(
    { workspaceId, userId }: { workspaceId: string; userId: string },
    provider: string,
    agentId: string | undefined,
  ): Promise<void> {
    return this.#batcher.add({
      ...unasked("oauth_token.read", this.#options.clock.now()),
      workspace_id: workspaceId,
      actor_kind: "system",
      via: "agent",
      user_id: userId,
      target_kind: "oauth_provider",
      target_id: provider,
      details: agentId === undefined ? {} : { agent_id: agentId },
    });
  }

  /** Deletes what is older than the retention; how many rows. */
  async prune(signal: AbortSignal): Promise<number> {
    const { clock, database, retentionDays } = this.#options;
    if (retentionDays === 0) return 0;
    const before = new Date(clock.now().getTime() - retentionDays * dayMs);
    let deleted = 0;
    for (;;) {
      signal.throwIfAborted();
      const count = await database.transaction((tx) => store.deleteEventsBefore(tx, before, pruneBatch));
      deleted += count;
      if (count < pruneBatch) break;
    }
    if (deleted > 0) {
      const details = { count: deleted, before: before.toISOString() };
      await this.#batcher.add({
        ...unasked("audit_events.pruned", clock.now()),
        actor_kind: "system",
        details,
      });
    }
    return deleted;
  }

  /** Writes what was counted and waits for it. */
  async stop(): Promise<void> {
    this.#closeWindow();
    await this.#batcher.drain();
  }

  #toEvent(entry: AuditEntry): AuditEvent {
    const { clock, failedCredentials } = this.#options;
    return eventOf(entry, {
      id: newId(),
      at: clock.now(),
      address: failedCredentials?.addressOf(entry.peer, entry.headers) ?? entry.peer,
    });
  }

  /** These writes are not awaited. */
  #writeLater(event: AuditEvent): void {
    this.#batcher.add(event).catch((error: unknown) => {
      this.#options.logger.error({ err: error, action: event.action }, "an audit event was not recorded");
    });
  }

  #closeWindow(): void {
    clearTimeout(this.#closing);
    this.#closing = undefined;
    for (const { last, left, of } of this.#budget.close()) {
      const counted = { ...last.details, more: left, counted_by: of };
      this.#writeLater({ ...last, id: newId(), at: this.#options.clock.now(), details: counted });
    }
  }
}

/** What no request has asked for. */
export function unasked(action: AuditAction, at: Date): AuditEvent {
  return {
    ...nobody,
    id: newId(),
    at,
    action,
    outcome: "done",
    status: null,
    error_code: null,
    target_kind: null,
    target_id: null,
    target_name: null,
    address: null,
    user_agent: null,
    request_id: null,
    details: {},
  };
}

/** The table is the record. A file that cannot be written does not stop the work; the failure is logged. */
async function appendLines(file: string, events: readonly AuditEvent[], logger: Logger): Promise<void> {
  try {
    await appendFile(file, events.map((event) => `${JSON.stringify(event)}\n`).join(""), { mode: 0o600 });
  } catch (error) {
    logger.error({ err: error, file, events: events.length }, "audit events were not written to the file");
  }
}
