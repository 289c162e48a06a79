import type { RuntimeGround } from "../../src/agent-server/graphs/graph-runtime.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createTraces } from "../../src/traces/traces.ts";
import { testCaller } from "./agent-server.ts";
import { testSeal } from "./traces-app.ts";

export type TestTraces = {
  trace: NonNullable<RuntimeGround["trace"]>;
  /** All of a trace that is stored, in its order. */
  read(traceId: string): Promise<StoredSpan[]>;
  stop(): Promise<void>;
};

export type StoredSpan = {
  id: string;
  parent_run_id: string | null;
  name: string;
  status: string;
  error: string | null;
  inputs: unknown;
  tags: string[];
  start_time: Date;
  end_time: Date | null;
};

/** Traces of an agent server made for tests, in the same database. */
export async function startTestTraces(databaseUrl: string): Promise<TestTraces> {
  const logger = createLogger({ level: "silent" });
  const database = openDatabase({ url: databaseUrl, poolSize: 3, logger });
  const traces = createTraces({ seal: testSeal, database, clock: { now: () => new Date() }, logger });
  await traces.start();
  const { organizationId, workspaceId } = testCaller;
  await raw`insert into organizations (id, name) values (${organizationId}, 'test') on conflict do nothing`.execute(
    database.sql,
  );
  await raw`insert into workspaces (id, organization_id, name) values (${workspaceId}, ${organizationId}, 'test')
    on conflict do nothing`.execute(database.sql);
  return {
    trace: (place, span) => traces.spans.record(place, "post", span),
    async read(traceId) {
      await traces.spans.flush();
      const { rows } = await raw<Omit<StoredSpan, "inputs"> & { inputs: string | null }>`
        select id, parent_run_id, name, status, error, inputs, tags, start_time, end_time
        from trace_runs where trace_id = ${traceId} order by start_time, dotted_order`.execute(database.sql);
      return rows.map((row) => ({ ...row, inputs: JSON.parse(String(row.inputs ?? "null")) as unknown }));
    },
    async stop() {
      await traces.stop();
      await database.close();
    },
  };
}
