import { readdirSync, readFileSync } from "node:fs";
import { clickHouseMigrations } from "../src/app/open-clickhouse.ts";
import { PreparedClickHouse } from "../src/platform/clickhouse/prepared-clickhouse.ts";
import { systemClock } from "../src/platform/clock.ts";
import type { Database } from "../src/platform/db/database.ts";
import { createLogger } from "../src/platform/logger.ts";
import { createClickHouseRunStorage } from "../src/traces/storage/clickhouse/clickhouse-run-storage.ts";
import type { RunStorage } from "../src/traces/storage/run-storage.ts";
import { createRunMove } from "../src/traces/trace-services.ts";
import { startClickHouse } from "../tests/support/components/clickhouse.ts";
import type { TracesSize } from "./traces-grow.ts";

const logger = createLogger({ level: "warn" });
const bytesQuery = `select sum(bytes_on_disk) as bytes from system.parts
  where active and database = currentDatabase() and table = 'trace_runs'`;

export type BenchClickHouse = Awaited<ReturnType<typeof openClickHouseOfBench>>;

/** A ClickHouse of its own, for runs of this database. */
export async function openClickHouseOfBench(database: Database) {
  const server = await startClickHouse();
  const url = await server.createDatabase();
  const prepared = await PreparedClickHouse.open({ url, database, logger, directory: clickHouseMigrations });
  await prepared.prepare();
  const { clickHouse } = prepared;
  const bytes = async () => Number((await clickHouse.rows<{ bytes: number }>(bytesQuery))[0]!.bytes);
  const count = async () =>
    Number((await clickHouse.rows<{ n: number }>("select count() as n from trace_runs final"))[0]!.n);
  return {
    clickHouse,
    url,
    pid: pidAt(Number(new URL(server.origin).port)),
    bytes,
    size: async (): Promise<TracesSize> => ({ tableBytes: await bytes(), stored: await count() }),
    /** Stores copies of those it has until there are so many, with ids and times of their own within ten days. */
    async grow(wanted: number): Promise<void> {
      for (let stored = await count(); stored < wanted; stored = await count())
        await clickHouse.run(
          `insert into trace_runs select * replace (generateUUIDv4() as id, generateUUIDv4() as trace_id,
            start_time - toIntervalSecond(rand() % 864000) as start_time)
          from trace_runs final limit ${Math.min(50_000, wanted - stored)}`,
        );
    },
    /** Moves all runs of the database there, as `treadle traces migrate` does. */
    async takeRuns(): Promise<void> {
      const began = performance.now();
      const move = createRunMove({ database, clickHouse, logger, clock: systemClock });
      let said = 0;
      const { moved } = await move.moveAlone({
        onProgress: ({ moved: done }) => {
          if (done - said < 100_000) return;
          said = done;
          console.log(`${done} runs moved, ${seconds(began)} s`);
        },
      });
      console.log(`${moved} runs moved in ${seconds(began)} s, ClickHouse: ${await bytes()} bytes`);
      await clickHouse.run("optimize table trace_runs");
      console.log(`merged by ${seconds(began)} s: ${await bytes()} bytes`);
    },
    async close(): Promise<void> {
      await prepared.close();
      await server.stop();
    },
  };
}

/** Moves the runs of a database to a ClickHouse of its own, and hands on their storage. */
export async function withClickHouseRuns(
  database: Database,
  use: (storage: RunStorage) => Promise<void>,
): Promise<void> {
  const { clickHouse, takeRuns, close } = await openClickHouseOfBench(database);
  try {
    await takeRuns();
    await use(
      createClickHouseRunStorage({
        ...{ clickHouse, database, clock: systemClock, logger, readTimeoutMs: 30_000 },
        priceOf: () => undefined,
      }),
    );
  } finally {
    await close();
  }
}

/** Of the runs, with their indexes. */
export async function databaseBytes(database: Database): Promise<number> {
  const [row] = await database.query<{ bytes: number }>(
    {
      name: "",
      text: `select sum(pg_total_relation_size(relid))::float8 + pg_total_relation_size('trace_run_ids') as bytes
        from pg_partition_tree('trace_runs') where isleaf`,
    },
    [],
  );
  return row!.bytes;
}

/** The process that was started to listen there. */
function pidAt(port: number): number | undefined {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`--http_port=${port}`);
      } catch {
        // It ended meanwhile.
        return false;
      }
    });
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1000).toFixed(0);
}
