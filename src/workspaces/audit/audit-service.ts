import { appendFile } from "node:fs/promises";
import type { Clock } from "../../platform/clock.ts";
import { Batcher, outageRetries } from "../../platform/db/batch/batcher.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { FailedCredentials } from "../../platform/http/access/failed-credentials.ts";
import type { AuditEntry, AuditSink } from "../../platform/http/audit/audit.ts";
import type { AuditAction } from "../../platform/http/audit/audit-action.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { type AuditEvent, eventOf, nobody } from "./audit.ts";
import * as store from "./audit-store.ts";
import { type BudgetLimits, defaultBudget, RefusalBudget } from "./refusal-budget.ts";

export type AuditService = AuditSink & {
  list(caller: Caller, query: AuditQuery): Promise<store.ListedEvent[]>;
  /** By a graph inside the platform, which makes no request. */
  recordTokenRead(
    user: { workspaceId: string; userId: string },
    provider: string,
    agentId: string | undefined,
  ): Promise<void>;
  /** Deletes what is older than the retention; how many rows. */
  prune(signal: AbortSignal): Promise<number>;
  /** Writes what was counted and waits for it. */
  stop(): Promise<void>;
};

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

export function createAudit(options: AuditOptions): AuditService {
  const { database, clock, logger, file, failedCredentials, budget: limits = defaultBudget } = options;
  const budget = new RefusalBudget(limits);
  let closing: NodeJS.Timeout | undefined;

  const batcher = new Batcher<AuditEvent, void>({
    name: "audit events",
    retries: outageRetries,
    maxQueuedRows: 20_000,
    async flush(events) {
      await store.insertEvents(database, events);
      if (file !== undefined) await appendLines(file, events, logger);
      return events.map(() => undefined);
    },
  });

  const toEvent = (entry: AuditEntry) =>
    eventOf(entry, {
      id: newId(),
      at: clock.now(),
      address: failedCredentials?.addressOf(entry.peer, entry.headers) ?? entry.peer,
    });

  /** Nobody waits for these. */
  const writeLater = (event: AuditEvent) => {
    batcher.add(event).catch((error: unknown) => {
      logger.error({ err: error, action: event.action }, "an audit event was not recorded");
    });
  };

  const closeWindow = () => {
    clearTimeout(closing);
    closing = undefined;
    for (const { last, left, of } of budget.close()) {
      const counted = { ...last.details, more: left, counted_by: of };
      writeLater({ ...last, id: newId(), at: clock.now(), details: counted });
    }
  };

  return {
    record: (entry) => batcher.add(toEvent(entry)),
    noteRefusal(entry) {
      const event = toEvent(entry);
      if (budget.admit(event)) writeLater(event);
      closing ??= setTimeout(closeWindow, limits.windowMs).unref();
    },
    list(caller, query) {
      const { workspaceId } = caller;
      const withInstallation = workspaceId === options.firstWorkspaceId();
      return store.listEvents(database.sql, { ...query, workspaceId, withInstallation });
    },
    recordTokenRead: ({ workspaceId, userId }, provider, agentId) =>
      batcher.add({
        ...unasked("oauth_token.read", clock.now()),
        workspace_id: workspaceId,
        actor_kind: "system",
        via: "agent",
        user_id: userId,
        target_kind: "oauth_provider",
        target_id: provider,
        details: agentId === undefined ? {} : { agent_id: agentId },
      }),
    async prune(signal) {
      if (options.retentionDays === 0) return 0;
      const before = new Date(clock.now().getTime() - options.retentionDays * dayMs);
      let deleted = 0;
      for (;;) {
        signal.throwIfAborted();
        const count = await database.transaction((tx) => store.deleteEventsBefore(tx, before, pruneBatch));
        deleted += count;
        if (count < pruneBatch) break;
      }
      if (deleted > 0) {
        const details = { count: deleted, before: before.toISOString() };
        await batcher.add({ ...unasked("audit_events.pruned", clock.now()), actor_kind: "system", details });
      }
      return deleted;
    },
    async stop() {
      closeWindow();
      await batcher.drain();
    },
  };
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
