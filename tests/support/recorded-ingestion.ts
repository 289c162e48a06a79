import { createHash, randomUUID } from "node:crypto";
import type { Database, Sql, Statement } from "../../src/platform/db/database.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { readRun } from "../../src/traces/ingest/read-run.ts";
import { RunWriter } from "../../src/traces/ingest/run-writer.ts";
import { Partitions } from "../../src/traces/storage/postgres/partitions/partition-service.ts";
import { PostgresRunWriting } from "../../src/traces/storage/postgres/writing/postgres-run-writing.ts";
import { replaceInDatabase } from "./replaced-database.ts";

export type RecordedStatement = { key: string; statement: Statement; values: (string | null)[] };

const runs = 200;
const workspaceId = md5("workspace0");

/** The statements of ingestion with the values of a real flush: new runs, model calls below stored ones, patches. */
export async function recordIngestion(database: Database): Promise<RecordedStatement[]> {
  const recorded: RecordedStatement[] = [];
  const record = (text: string, values: readonly unknown[]) =>
    recorded.push({
      key: `ingestion: ${text.slice(0, 60)}`,
      statement: { name: "", text },
      values: values.map(asText),
    });
  // Hot statements go through `executeQuery`, also within a transaction.
  const watchedSql = (sql: Sql): Sql =>
    new Proxy(sql, {
      get(target, property) {
        if (property !== "executeQuery") return Reflect.get(target, property, target);
        return (query: Parameters<Sql["executeQuery"]>[0]) => {
          const { sql: text, parameters } = "compile" in query ? query.compile() : query;
          record(text, parameters);
          return target.executeQuery(query);
        };
      },
    });
  const watched = replaceInDatabase(database, {
    sql: watchedSql(database.sql),
    transaction: (work) => database.transaction((tx) => work(watchedSql(tx))),
    query(statement, values) {
      if (statement.name === "") record(statement.text, values);
      return database.query(statement, values);
    },
  });
  const partitions = new Partitions({
    database,
    clock: { now: () => new Date() },
    logger: createLogger({ level: "silent" }),
  });
  const writing = new PostgresRunWriting({ database: watched, partitions, priceOf: () => undefined });
  const writer = new RunWriter({ writing });
  const now = new Date().toISOString();
  const context = { workspaceId, receivedAt: now };
  const ids = Array.from({ length: runs }, () => randomUUID());
  const add = (kind: "post" | "patch", record: Record<string, unknown>) =>
    writer.add({ ...readRun({ kind, record, payloads: {} }, context), projectId: md5("project0") });
  await Promise.all(
    ids.map((id, index) =>
      add("post", {
        id,
        parent_run_id: md5(`run${index * 5}`),
        run_type: "llm",
        start_time: now,
        outputs: { usage: { input_tokens: 1, output_tokens: 1 } },
      }),
    ),
  );
  await Promise.all(ids.map((id) => add("patch", { id, end_time: now, outputs: { answer: id } })));
  await Promise.all(ids.map(() => add("patch", { id: randomUUID(), outputs: { answer: 1 } })));
  return recorded;
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? `\\x${value.toString("hex")}` : String(value);
}

function md5(text: string): string {
  const hex = createHash("md5").update(text).digest("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
