import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { migrate } from "../../src/platform/db/schema/migrate.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { AppError } from "../../src/platform/errors.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createTraces, type Traces } from "../../src/traces/traces.ts";
import { type DebianPostgres, startDebianPostgres } from "../support/components/debian-postgres.ts";
import { migrationsDirectory } from "../support/postgres.ts";
import { createTracesApp, multipartBody, sampleChild, samplePost } from "../support/traces-app.ts";

const logger = createLogger({ level: "silent" });
const workspaceId = randomUUID();
let postgres: DebianPostgres;
let database: Database;
let traces: Traces;
beforeAll(async () => {
  postgres = await startDebianPostgres({ settings: { fsync: "on" } });
  await migrate({ url: postgres.url, directory: migrationsDirectory, logger });
  database = openDatabase({ url: postgres.url, poolSize: 5, logger });
  const organization = randomUUID();
  await raw`insert into organizations (id, name) values (${organization}, 'o')`.execute(database.sql);
  await raw`insert into workspaces (id, organization_id, name) values (${workspaceId}, ${organization}, 'w')`.execute(
    database.sql,
  );
  traces = createTraces({
    seal: new SecretBox({ currentKey: "a key of the tests alone" }),
    database,
    clock: systemClock,
    logger,
  });
  await traces.start();
});
afterAll(async () => {
  await traces.stop();
  await database.close();
  await postgres.stop();
});

/** A root and a model call below it, whose tokens must be counted once however often it is sent. */
function trace() {
  const root = samplePost({ session_name: undefined });
  const usage = { usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
  const llm = sampleChild(root, { session_name: undefined, run_type: "llm", outputs: usage });
  return [root, llm];
}

test("Postgres killed and restarted during ingestion: nothing acknowledged is lost or counted twice", async () => {
  const acknowledged: string[] = [];
  let refused = 0;
  let sending = true;
  const client = async () => {
    while (sending) {
      const records = Array.from({ length: 5 }, trace).flat();
      // As clients do: the same batch is sent until it is accepted.
      for (;;) {
        try {
          await traces.ingestRuns(
            workspaceId,
            "restart",
            records.map((record) => ({ kind: "post", record })),
          );
          acknowledged.push(...records.map((record) => record.id));
          break;
        } catch (error) {
          if (!(error instanceof AppError && error.retryable)) throw error;
          refused += 1;
          await delay(50);
        }
      }
    }
  };
  const clients = Promise.all(Array.from({ length: 4 }, client));
  const until = async (count: number) => {
    while (acknowledged.length < count) await Promise.race([clients, delay(20)]);
  };
  await until(200);
  await postgres.kill();
  // Each of the clients was asked to come again, more than once.
  while (refused < 12) await Promise.race([clients, delay(20)]);
  await postgres.restart();
  await until(acknowledged.length + 200);
  await postgres.restart();
  await until(acknowledged.length + 200);
  sending = false;
  await clients;

  const { rows } = await raw<{ stored: number; ids: number; wrong: number }>`
    select count(*)::int as stored, count(distinct id)::int as ids, count(*) filter (where total_tokens <> 2)::int as wrong
    from trace_runs where id = any(${acknowledged}::uuid[])
  `.execute(database.sql);
  expect(rows).toEqual([{ stored: acknowledged.length, ids: acknowledged.length, wrong: 0 }]);
}, 120_000);

test("a client that goes away in the middle of its body leaves nothing behind and harms nobody", async () => {
  const subject = await createTracesApp();
  try {
    const server = await subject.listen();
    const post = samplePost();
    const body = multipartBody(
      [
        { name: `post.${post.id}`, value: post },
        { name: `post.${post.id}.inputs`, value: { a: "x".repeat(100_000) } },
      ],
      "b",
    );
    const { hostname, port } = new URL(server.url);
    for (const chunked of [true, false]) {
      const socket = connect(Number(port), hostname);
      const length = chunked ? "transfer-encoding: chunked" : `content-length: ${body.length}`;
      socket.write(
        `POST /api/v1/runs/multipart HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${subject.app.apiKey}\r\n` +
          `content-type: multipart/form-data; boundary=b\r\n${length}\r\n\r\n`,
      );
      const half = body.subarray(0, body.length / 2);
      socket.write(
        chunked
          ? Buffer.concat([Buffer.from(`${half.length.toString(16)}\r\n`), half, Buffer.from("\r\n")])
          : half,
      );
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.on("error", () => undefined);
      socket.end();
      await Promise.race([closed, delay(2_000).then(() => socket.destroy())]);
    }
    const next = samplePost();
    expect((await subject.multipart([{ name: `post.${next.id}`, value: next }])).status).toBe(202);
    expect(await subject.run(post.id)).toBeUndefined();
    expect(await subject.run(next.id)).toMatchObject({ id: next.id });
  } finally {
    await subject.stop();
  }
});
