import type { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { readRun } from "../../src/traces/ingest/read-run.ts";
import { RunWriter } from "../../src/traces/ingest/run-writer.ts";
import type { QueuedRun } from "../../src/traces/runs/flush-plan.ts";
import type { RunChange } from "../../src/traces/runs/run-change.ts";
import { createBoundedRead } from "../../src/traces/storage/bounded-read.ts";
import { ClickHouseRunReading } from "../../src/traces/storage/clickhouse/reading/clickhouse-run-reading.ts";
import { ClickHouseRunWriting } from "../../src/traces/storage/clickhouse/writing/clickhouse-run-writing.ts";
import { Partitions } from "../../src/traces/storage/postgres/partitions/partition-service.ts";
import { PostgresRunReading } from "../../src/traces/storage/postgres/reading/postgres-run-reading.ts";
import { PostgresRunWriting } from "../../src/traces/storage/postgres/writing/postgres-run-writing.ts";
import type { RunField } from "../../src/traces/storage/run-query.ts";
import type { RunReading, RunWriting } from "../../src/traces/storage/run-storage.ts";
import { priceTable } from "../../src/traces/usage/model-prices.ts";

const [clock, logger] = [systemClock, createLogger({ level: "silent" })];
const priceOf = priceTable();
const readTimeoutMs = 60_000;

export type Sent = {
  kind: "post" | "patch";
  run: Record<string, unknown> & { id: string };
  projectId?: string;
};
export type ShownRun = Record<string, unknown> & { id: string };

/** One engine of runs, as those who write to it and read from it know it. */
export class WrittenRuns {
  readonly writing: RunWriting;
  readonly reading: RunReading;
  readonly writer: RunWriter;
  readonly workspaceId: string;

  constructor(writing: RunWriting, reading: RunReading, workspaceId: string) {
    this.writing = writing;
    this.reading = reading;
    this.writer = new RunWriter({ writing });
    this.workspaceId = workspaceId;
  }

  static inPostgres(database: Database, workspaceId: string): WrittenRuns {
    const partitions = new Partitions({ database, clock, logger });
    const read = createBoundedRead(database, readTimeoutMs);
    return new WrittenRuns(
      new PostgresRunWriting({ database, partitions, priceOf }),
      new PostgresRunReading({ database, read }),
      workspaceId,
    );
  }

  static inClickHouse(clickHouse: ClickHouse, database: Database, workspaceId: string): WrittenRuns {
    return new WrittenRuns(
      new ClickHouseRunWriting({ clickHouse, database, clock, logger, priceOf }),
      new ClickHouseRunReading({ clickHouse, database, readTimeoutMs }),
      workspaceId,
    );
  }

  change({ kind, run, projectId }: Sent, onlyProjectId?: string): RunChange {
    const receivedAt = new Date().toISOString().replace("Z", "000Z");
    const change = readRun(
      { kind, record: run, payloads: {} },
      { workspaceId: this.workspaceId, receivedAt },
    );
    return { ...change, projectId, ...(onlyProjectId && { onlyProjectId }) };
  }

  /** As ingestion does it: what comes at once is written together. */
  async send(...sent: Sent[]): Promise<void> {
    await Promise.all(sent.map((each) => this.writer.add(this.change(each))));
  }

  queued(...sent: Sent[]): QueuedRun[] {
    const byId = Map.groupBy(sent, ({ run }) => run.id);
    return [...byId].map(([id, some]) => {
      const changes = some.map((each) => this.change(each));
      return { id, workspaceId: this.workspaceId, changes, bytes: 1_000 };
    });
  }

  /** The runs as readers get them, by id; payloads and metadata as values. */
  async shown(ids: string[]): Promise<ShownRun[]> {
    const page = { limit: 1_000, order: "asc" } as const;
    const { rows } = await this.reading.find(
      { workspaceId: this.workspaceId, ids },
      page,
      new Set(shownFields),
    );
    return rows
      .map(
        (row) =>
          Object.fromEntries(shownFields.map((name) => [name, shownValue(name, row[name])])) as ShownRun,
      )
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  }
}

const shownFields = [
  ...([
    "id",
    "session_id",
    "trace_id",
    "parent_run_id",
    "parent_run_ids",
    "reference_example_id",
    "name",
  ] as const),
  ...(["run_type", "start_time", "end_time", "status", "is_root", "dotted_order", "error", "tags"] as const),
  ...([
    "thread_id",
    "execution_order",
    "first_token_time",
    "metadata",
    "extra",
    "inputs",
    "outputs",
  ] as const),
  ...(["events", "serialized", "total_tokens", "prompt_tokens", "completion_tokens", "total_cost"] as const),
  ...(["prompt_cost", "completion_cost"] as const),
] satisfies RunField[];
const texts = new Set<string>(["metadata", "extra", "inputs", "outputs", "events", "serialized"]);

function shownValue(name: string, value: unknown): unknown {
  return texts.has(name) && typeof value === "string" ? (JSON.parse(value) as unknown) : (value ?? null);
}
