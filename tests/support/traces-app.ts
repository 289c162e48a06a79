import { randomUUID } from "node:crypto";
import type { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { createHttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import { listen, type RunningServer } from "../../src/platform/http/server/server.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";
import { AttachmentLinks } from "../../src/traces/attachments/attachment-links.ts";
import { type BoundedRead, createBoundedRead } from "../../src/traces/storage/bounded-read.ts";
import { createPostgresRunStorage } from "../../src/traces/storage/postgres/postgres-run-storage.ts";
import type { RunStorage } from "../../src/traces/storage/run-storage.ts";
import { createTraces, type Traces } from "../../src/traces/traces.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { openTestEngine } from "./trace-engine.ts";
import { createWorkspacesApp, type WorkspacesApp } from "./workspaces-app.ts";

export const testSeal = new SecretBox({ currentKey: "a key of the tests alone" });
export const testLinks = new AttachmentLinks(testSeal);

/** For routes over a database that the test fills itself. */
export function testRunStorage(database: Database): { storage: RunStorage; read: BoundedRead } {
  const readTimeoutMs = 30_000;
  const storage = createPostgresRunStorage({
    ...{ database, readTimeoutMs },
    clock: systemClock,
    logger: createLogger({ level: "silent" }),
    priceOf: () => undefined,
  });
  return { storage, read: createBoundedRead(database, readTimeoutMs) };
}

export type TracesApp = {
  app: WorkspacesApp;
  traces: Traces;
  testDatabase: TestDatabase;
  /** One stored run as its reader gets it, or undefined. */
  run(id: string): Promise<Record<string, unknown> | undefined>;
  /** Runs as they are stored, whichever engine keeps them: payloads are the text that was sent. */
  stored(ids: readonly string[]): Promise<StoredTexts[]>;
  multipart(
    parts: readonly SamplePart[],
    options?: MultipartOptions,
  ): Promise<{ status: number; body: unknown }>;
  /** Serves on a free loopback port. */
  listen(): Promise<RunningServer>;
  stop(): Promise<void>;
};

export type StoredTexts = {
  id: string;
  name: string;
  metadata: unknown;
  inputs: string | null;
  outputs: string | null;
  extra: string | null;
};

export type SamplePart = { name: string; value?: unknown; bytes?: Buffer; type?: string };
export type MultipartOptions = {
  encode?: (body: Buffer) => Buffer;
  encoding?: string;
  headers?: Record<string, string>;
};

/** Traces over a database of their own, with the real identities; every answer is checked against its schema. */
export async function createTracesApp(options: { clickHouse?: ClickHouse } = {}): Promise<TracesApp> {
  const testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  const clock = { now: () => new Date() };
  const logger = createLogger({ level: "silent" });
  const engine = options.clickHouse ? undefined : await openTestEngine(database);
  const clickHouse = options.clickHouse ?? engine?.clickHouse;
  const traces = createTraces({ seal: testSeal, database, clock, logger, clickHouse });
  const app = await createWorkspacesApp({ testDatabase, routes: traces.routes });
  await traces.start();
  const servers: RunningServer[] = [];
  return {
    app,
    traces,
    testDatabase,
    async run(id) {
      const answer = await app.call("GET", `/api/v1/runs/${id}`);
      return answer.status === 404 ? undefined : (answer.body as Record<string, unknown>);
    },
    async stored(ids) {
      if (!clickHouse) {
        const { rows } = await raw<StoredTexts>`
          select id, name, metadata, inputs, outputs, extra from trace_runs where id = any(${ids}::uuid[])
        `.execute(database.sql);
        return rows;
      }
      const rows = await clickHouse.rows<StoredTexts & { metadata: string }>(
        `select id, name, metadata, inputs, outputs, extra from trace_runs final
          where id in {ids: Array(UUID)} and not is_gone`,
        { params: { ids } },
      );
      return rows.map((row) => ({ ...row, metadata: JSON.parse(row.metadata) as unknown }));
    },
    async multipart(parts, options = {}) {
      const boundary = `b-${randomUUID()}`;
      const body = multipartBody(parts, boundary);
      const response = await app.fetch(
        new Request("http://127.0.0.1/api/v1/runs/multipart", {
          method: "POST",
          headers: {
            "x-api-key": app.apiKey,
            "content-type": `multipart/form-data; boundary=${boundary}`,
            ...(options.encoding && { "content-encoding": options.encoding }),
            ...options.headers,
          },
          body: new Uint8Array(options.encode ? options.encode(body) : body),
        }),
      );
      return { status: response.status, body: await response.json() };
    },
    async listen() {
      const http = createHttpApp({
        routes: app.routes,
        authenticator: app.workspaces.authenticator,
        agentAuthRequired: false,
        logger,
        metrics: new Metrics({ processMetrics: false }),
        corsOrigins: [],
        documents: [],
        validateResponses: true,
      });
      const server = await listen(http, { host: "127.0.0.1", port: 0, logger });
      servers.push(server);
      return server;
    },
    async stop() {
      for (const server of servers) await server.close({ graceMs: 1_000 });
      await traces.stop();
      await app.stop();
      await engine?.close();
      await testDatabase.drop();
    },
  };
}

/** A body as the Python client writes it: every part states its length. */
export function multipartBody(parts: readonly SamplePart[], boundary: string): Buffer {
  const chunks: Buffer[] = [];
  for (const part of parts) {
    const content = part.bytes ?? Buffer.from(JSON.stringify(part.value));
    const head = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="${part.name}"`,
      `Content-Type: ${part.type ?? "application/json"}`,
      `Content-Length: ${content.byteLength}`,
    ].join("\r\n");
    chunks.push(Buffer.from(`${head}\r\n\r\n`), content, Buffer.from("\r\n"));
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return Buffer.concat(chunks);
}

export function dottedTime(time: string): string {
  return time.replaceAll(/[-:.]/g, "");
}

/** A root run as clients send it. */
export function samplePost(
  fields: Record<string, unknown> = {},
): Record<string, unknown> & { id: string; dotted_order: string } {
  const id = (fields.id as string | undefined) ?? randomUUID();
  const start = (fields.start_time as string | undefined) ?? "2026-10-05T10:00:00.123456Z";
  return {
    id,
    trace_id: id,
    name: "root",
    run_type: "chain",
    start_time: start,
    session_name: "sample",
    ...fields,
    dotted_order: (fields.dotted_order as string | undefined) ?? `${dottedTime(start)}${id}`,
  };
}

/** A run below another one. */
export function sampleChild(
  parent: { trace_id?: unknown; id: string; dotted_order: string },
  fields: Record<string, unknown> = {},
) {
  const id = (fields.id as string | undefined) ?? randomUUID();
  const start = (fields.start_time as string | undefined) ?? "2026-10-05T10:00:01.000000Z";
  return samplePost({
    name: "child",
    ...fields,
    id,
    start_time: start,
    trace_id: parent.trace_id ?? parent.id,
    parent_run_id: parent.id,
    dotted_order: `${parent.dotted_order}.${dottedTime(start)}${id}`,
  });
}
