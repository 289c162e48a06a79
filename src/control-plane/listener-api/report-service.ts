import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { announceDeployment } from "../desired-state/revision-store.ts";
import type { Listener } from "../listeners/listener.ts";
import { saveCursors } from "../listeners/listener-store.ts";
import type { ListenerLeases } from "./lease-service.ts";
import type { Report, Reported } from "./listener-wire.ts";
import {
  addEvents,
  addLines,
  addMetrics,
  applyDeployments,
  applyInstances,
  applyRevisions,
  releaseDeleted,
} from "./report-store.ts";

export type ListenerReportsOptions = { database: Database; clock: Clock; leases: ListenerLeases };

/** Stores what listeners report, so that their deployments are shown like those that run here. */
export class ListenerReports {
  readonly #options: ListenerReportsOptions;

  constructor(options: ListenerReportsOptions) {
    this.#options = options;
  }

  /** All of a report or nothing, and each event and line once, however often it is sent. A late one is not stored. */
  async store(caller: Caller, listenerId: string, report: Report): Promise<Reported> {
    const { database, clock, leases } = this.#options;
    const by = { workspaceId: caller.workspaceId, listenerId };
    return database.transaction(async (tx) => {
      const now = clock.now();
      const listener = await leases.require(tx, caller, listenerId, report.epoch);
      if (report.number <= listener.report_number) return reportedOf(listener);
      const newEvents = report.events.after === listener.event_cursor;
      const newLines = report.logs.after === listener.log_cursor;
      const changed = [
        // Before the statuses: an interruption is told once.
        ...(newEvents ? await addEvents(tx, by, report.events.items) : []),
        ...(await applyRevisions(tx, by, report.revisions, now)),
        ...(await applyDeployments(tx, by, report.deployments, now)),
        ...(await applyInstances(tx, by, report.instances)),
        ...(await releaseDeleted(tx, by, report.held, now)),
      ];
      if (newLines) await addLines(tx, by, report.logs.items);
      await addMetrics(tx, by, report.metrics.items, now);
      const cursors = {
        report: report.number,
        events: newEvents ? report.events.upto : listener.event_cursor,
        logs: newLines ? report.logs.upto : listener.log_cursor,
        metricsUntil: report.metrics.until === null ? listener.metrics_until : new Date(report.metrics.until),
      };
      await saveCursors(tx, listenerId, cursors);
      for (const id of new Set(changed)) await announceDeployment(tx, id);
      return reportedOf({
        ...{ event_cursor: cursors.events, log_cursor: cursors.logs, metrics_until: cursors.metricsUntil },
      });
    });
  }
}

type Stored = Pick<Listener, "event_cursor" | "log_cursor" | "metrics_until">;

function reportedOf({ event_cursor, log_cursor, metrics_until }: Stored): Reported {
  return { event_cursor, log_cursor, metrics_until: metrics_until?.toISOString() ?? null };
}
