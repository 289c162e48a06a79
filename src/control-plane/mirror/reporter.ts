import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { RevisionEvent } from "../desired-state/revision.ts";
import { mostItems, type Report, type Reported } from "../listener-api/listener-wire.ts";
import type { LogRow } from "../logs/log.ts";
import { stepOf } from "../metrics/metric.ts";
import { saveLogCursor } from "./mirror-store.ts";
import { NumberedFeed } from "./numbered-feed.ts";
import type { PlatformClient } from "./platform-client.ts";
import {
  readDeployments,
  readEvents,
  readInstances,
  readLines,
  readMetrics,
  readRevisions,
  type ToldDeployment,
  type ToldMetric,
} from "./report-source-store.ts";
import { eventWire, instanceWire, lineWire, metricWire, revisionWire } from "./report-wire.ts";

export type ReporterOptions = {
  database: Database;
  clock: Clock;
  client: Pick<PlatformClient, "report">;
  urlOf(deployment: Pick<ToldDeployment, "slug">): string;
};

type Content = Omit<Report, "epoch" | "number">;

/** Tells the platform what has changed here since it was told the last time. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #events: NumberedFeed<RevisionEvent>;
  readonly #lines: NumberedFeed<LogRow & { deployment_id: string }>;
  /** By kind and id, as it was told. */
  readonly #told = new Map<string, string>();
  #toldHeld = "";
  #live: ReadonlySet<string> = new Set();
  readonly #gone = new Set<string>();
  #metricsUntil: Date | null = null;
  #savedCursor: number | null = null;

  constructor(options: ReporterOptions) {
    const { sql } = options.database;
    this.#options = options;
    this.#events = new NumberedFeed((after, limit) => readEvents(sql, after, limit));
    this.#lines = new NumberedFeed((after, limit) => readLines(sql, after, limit));
  }

  /** With a new lease everything is told once more: the platform may have been restored from a backup. */
  begin({ event_cursor, log_cursor, metrics_until }: Reported): void {
    this.#events.begin(event_cursor);
    this.#lines.begin(log_cursor);
    this.#metricsUntil = metrics_until === null ? null : new Date(metrics_until);
    this.#told.clear();
    this.#toldHeld = "";
    this.#savedCursor = null;
  }

  /** False when there was nothing to tell. */
  async tell(): Promise<boolean> {
    const { sql } = this.#options.database;
    await this.#saveCursor();
    // Before the rows they are about: a status is never older on the platform than its event.
    const [events, lines] = [await this.#events.next(mostItems), await this.#lines.next(mostItems)];
    const deployments = await readDeployments(sql);
    this.#noteRevived(deployments);
    const metrics = await this.#metrics();
    const content: Content = {
      held: deployments.map(({ id }) => id).sort(),
      deployments: this.#changed(
        "deployment",
        deployments.filter(({ deleted_at }) => deleted_at === null).map((row) => this.#deploymentWire(row)),
      ),
      revisions: this.#changed("revision", (await readRevisions(sql)).map(revisionWire)),
      instances: this.#changed("instance", (await readInstances(sql)).map(instanceWire)),
      events: { after: events.after, upto: events.upto, items: events.rows.map(eventWire) },
      logs: { after: lines.after, upto: lines.upto, items: lines.rows.map(lineWire) },
      metrics: { until: metrics.at(-1)?.at.toISOString() ?? null, items: metrics.map(metricWire) },
    };
    if (this.#isEmpty(content)) return false;
    const stored = await this.#options.client.report(content);
    this.#events.stored(events, stored.event_cursor);
    this.#lines.stored(lines, stored.log_cursor);
    this.#metricsUntil = stored.metrics_until === null ? null : new Date(stored.metrics_until);
    this.#remember(content);
    return true;
  }

  /** Here too: what the platform does not have yet is kept longer. */
  async #saveCursor(): Promise<void> {
    const { cursor } = this.#lines;
    if (cursor === this.#savedCursor) return;
    await saveLogCursor(this.#options.database.sql, cursor);
    this.#savedCursor = cursor;
  }

  /** What was told of a deployment while the platform had it elsewhere was not stored: everything is told once more. */
  #noteRevived(deployments: readonly ToldDeployment[]): void {
    const live = new Set(deployments.filter(({ deleted_at }) => deleted_at === null).map(({ id }) => id));
    for (const id of this.#live) if (!live.has(id)) this.#gone.add(id);
    for (const id of live) if (this.#gone.delete(id)) this.#told.clear();
    this.#live = live;
  }

  #isEmpty({ held, deployments, revisions, instances, events, logs, metrics }: Content): boolean {
    const lists = [deployments, revisions, instances, events.items, logs.items, metrics.items];
    return lists.every(({ length }) => length === 0) && held.join() === this.#toldHeld;
  }

  #changed<Item extends { id: string }>(kind: string, items: readonly Item[]): Item[] {
    return items
      .filter((item) => this.#told.get(`${kind} ${item.id}`) !== JSON.stringify(item))
      .slice(0, mostItems);
  }

  #remember({ held, deployments, revisions, instances }: Content): void {
    this.#toldHeld = held.join();
    for (const [kind, items] of Object.entries({
      deployment: deployments,
      revision: revisions,
      instance: instances,
    }))
      for (const item of items) this.#told.set(`${kind} ${item.id}`, JSON.stringify(item));
    // Far more than is read at once: what is forgotten is only told again.
    if (this.#told.size > 20_000) this.#told.clear();
  }

  /** Whole steps only: one that is not over would be told with less than there will be. */
  async #metrics(): Promise<ToldMetric[]> {
    const { database, clock } = this.#options;
    const range = { after: this.#metricsUntil, before: stepOf(clock.now()) };
    const found = await readMetrics(database.sql, range, mostItems);
    if (found.length < mostItems) return found;
    const last = found.at(-1)!.at.getTime();
    const whole = found.filter(({ at }) => at.getTime() < last);
    return whole.length > 0 ? whole : found;
  }

  #deploymentWire(row: ToldDeployment): Report["deployments"][number] {
    return {
      id: row.id,
      url: this.#options.urlOf(row),
      database_ready: row.database_ready,
      active_revision_id: row.active_revision_id,
      previous_revision_id: row.previous_revision_id,
      switched_at: row.switched_at?.toISOString() ?? null,
    };
  }
}
