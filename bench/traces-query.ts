import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "../src/platform/clock.ts";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import type { Database } from "../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { SecretBox } from "../src/platform/encryption/secret-box.ts";
import type { Caller } from "../src/platform/http/access/caller.ts";
import { createHttpApp, type HttpApp } from "../src/platform/http/pipeline/http-app.ts";
import { createLogger } from "../src/platform/logger.ts";
import { Metrics } from "../src/platform/metrics.ts";
import { AttachmentLinks } from "../src/traces/attachments/attachment-links.ts";
import { createTraceQueries } from "../src/traces/query/trace-queries.ts";
import { createBoundedRead } from "../src/traces/storage/bounded-read.ts";
import { createPostgresRunStorage } from "../src/traces/storage/postgres/postgres-run-storage.ts";
import type { RunStorage } from "../src/traces/storage/run-storage.ts";
import { replaceInDatabase } from "../tests/support/replaced-database.ts";
import { databaseBytes, withClickHouseRuns } from "./clickhouse-runs.ts";
import { median } from "./load.ts";
import { bigTraceId, fillTraces, projectId, rareWord, workspaceId } from "./traces-fill.ts";

/**
 * How long do typical queries take over a project of a million runs? Every filter should stay under 100 ms. With
 * `--engines postgres,clickhouse` the same runs are then moved to a ClickHouse of its own, and it is asked the same.
 */
type Question = { name: string; path?: string; method?: string; body?: Record<string, unknown> };

const light = [
  "id",
  "name",
  "run_type",
  "status",
  "start_time",
  "end_time",
  "total_tokens",
  "feedback_stats",
];
const newest = (filter: string, more: Record<string, unknown> = {}) => ({ filter, ...more });

const questions: Question[] = [
  { name: "newest 100 root runs, all fields", body: { is_root: true } },
  { name: "typical: failed runs", body: newest('eq(status, "error")') },
  { name: "typical: slow model calls", body: newest('and(eq(run_type, "llm"), gt(latency, "10s"))') },
  {
    name: "typical: metadata pair (1 of 10,000 users)",
    body: newest('and(eq(metadata_key, "user_id"), eq(metadata_value, "user-4711"))'),
  },
  { name: "typical: tag (0.1 % of runs)", body: newest('has(tags, "rare")') },
  {
    name: "typical: feedback score",
    body: newest('and(eq(feedback_key, "correctness"), lt(feedback_score, 0.2))'),
  },
  { name: "typical: rare name within a day", body: { ...newest('eq(name, "name-rare")'), lastDay: true } },
  { name: "name of 5 % of runs", body: newest('eq(name, "name-7")') },
  { name: "rare name (50 runs of all)", body: newest('eq(name, "name-rare")') },
  {
    name: "roots of traces in which a tool failed",
    body: newest("eq(is_root, true)", { tree_filter: 'and(eq(run_type, "tool"), eq(status, "error"))' }),
  },
  { name: "thread", body: { is_root: true, filter: 'eq(thread_id, "thread-77")' } },
  { name: "search, frequent word, newest 100", body: newest('search("question")') },
  { name: "search, rare word, within a day", body: { ...newest(`search("${rareWord}")`), lastDay: true } },
  { name: "search, rare word, all runs", body: newest(`search("${rareWord}")`) },
  {
    name: "search, word of no run, within a day",
    body: { ...newest('search("quetzalcoatlus")'), lastDay: true },
  },
  { name: "search, word of no run, all runs", body: newest('search("quetzalcoatlus")') },
  ...[
    { name: "sorted by latency, within a day", sort: "latency" },
    { name: "sorted by latency, all root runs", sort: "latency", min_start_time: "2000-01-01T00:00:00Z" },
    { name: "sorted by name, all root runs", sort: "name", min_start_time: "2000-01-01T00:00:00Z" },
  ].map(({ name, ...body }) => ({
    name,
    path: "/api/v2/runs/query",
    body: { ...body, project_ids: [projectId], is_root: true },
  })),
  { name: "page 50 of root runs (cursor)", body: { is_root: true, pages: 50 } },
  { name: "trace tree of 1,000 spans, no payloads", method: "GET", path: `/api/v1/traces/${bigTraceId}` },
  { name: "trace of 1,000 spans, all fields", body: { trace: bigTraceId, select: null } },
  { name: "statistics of the last day", path: "/api/v1/runs/stats", body: { lastDay: true } },
  {
    name: "statistics of a week by hour",
    method: "GET",
    path: `/api/v1/sessions/${projectId}/stats?bucket=hour`,
  },
];

const options = parseArgs({
  options: {
    runs: { type: "string", default: "1000000" },
    data: { type: "string" },
    url: { type: "string" },
    explain: { type: "boolean", default: false },
    only: { type: "string" },
    engines: { type: "string", default: "postgres" },
  },
}).values;
const logger = createLogger({ level: "warn" });
const readTimeoutMs = 30_000;

async function main(): Promise<void> {
  if (options.url) {
    const filled = openDatabase({ url: options.url, poolSize: 4, logger });
    await measureAll(filled, postgresStorage(filled));
    await filled.close();
    return;
  }
  const folder = options.data ?? (await mkdtemp(join(tmpdir(), "treadle-bench-")));
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o711);
  const isFilled = existsSync(join(folder, "postgres"));
  const server = await startEmbeddedPostgres({ dataDir: folder, logger });
  const database = openDatabase({ url: server.url, poolSize: 4, logger });
  try {
    if (!isFilled) {
      const directory = fileURLToPath(new URL("../migrations", import.meta.url));
      await migrate({ url: server.url, directory, logger });
      await fillTraces(database, Number(options.runs));
    }
    const engines = options.engines.split(",");
    if (engines.includes("postgres")) {
      console.log(`PostgreSQL: ${await databaseBytes(database)} bytes`);
      await measureAll(database, postgresStorage(database));
    }
    if (engines.includes("clickhouse"))
      await withClickHouseRuns(database, (storage) => measureAll(database, storage));
  } finally {
    await database.close();
    await server.stop();
    if (!options.data) await rm(folder, { recursive: true, force: true });
  }
}

async function measureAll(database: Database, storage: RunStorage): Promise<void> {
  const http = queryApp(database, storage);
  for (const question of questions) {
    if (options.only && !question.name.includes(options.only)) continue;
    const first = await ask(http, question);
    const times: number[] = [];
    while (times.length < (first.ms > 3_000 ? 1 : 7)) times.push((await ask(http, question)).ms);
    console.log(
      `${question.name.padEnd(48)} first ${first.ms.toFixed(0).padStart(6)} ms, median ${median(times).toFixed(1).padStart(8)} ms, ${first.size}`,
    );
  }
  await measureAlerts(storage);
}

/** What a rule of the alerts area asks each time it is evaluated. */
async function measureAlerts({ statistics }: RunStorage): Promise<void> {
  const now = new Date();
  for (const [name, minutes] of [
    ["5 minutes", 5],
    ["an hour", 60],
    ["a day", 1_440],
  ] as const) {
    const window = { from: new Date(now.getTime() - minutes * 60_000), to: now };
    for (const project of [projectId, null]) {
      const title = `alert: figures of ${name}, ${project ? "project" : "workspace"}`;
      if (options.only && !title.includes(options.only)) continue;
      const times: number[] = [];
      let runs = 0;
      for (let round = 0; round < 7; round += 1) {
        const start = performance.now();
        ({ runs } = await statistics.figures(workspaceId, project, window));
        times.push(performance.now() - start);
      }
      console.log(`${title.padEnd(48)} median ${median(times).toFixed(1).padStart(8)} ms, of ${runs} runs`);
    }
  }
}

async function ask(http: HttpApp, question: Question): Promise<{ ms: number; size: string }> {
  const { lastDay, pages, ...body } = question.body ?? {};
  const dayAgo = new Date(Date.now() - 86_400_000).toISOString();
  let cursor: string | undefined;
  for (let page = 1; page < Number(pages ?? 1); page++) {
    const answer = await send(http, { ...question, body: { ...body, cursor, select: light } });
    cursor = (answer.json as { cursors: { next: string } }).cursors.next;
  }
  const { ms, json } = await send(http, {
    ...question,
    body: { session: [projectId], ...body, ...(lastDay ? { start_time: dayAgo } : {}), cursor },
  });
  const { items, runs = items, run_count } = json as Answer;
  return { ms, size: runs ? `${runs.length} runs` : run_count === undefined ? "" : `of ${run_count} runs` };
}

type Answer = { runs?: unknown[]; items?: unknown[]; run_count?: number };

async function send(http: HttpApp, { path, method, body }: Question): Promise<{ ms: number; json: unknown }> {
  const isGet = method === "GET";
  const request = new Request(`http://127.0.0.1${path ?? "/api/v1/runs/query"}`, {
    method: method ?? "POST",
    headers: { "content-type": "application/json", "x-api-key": "bench" },
    ...(isGet ? {} : { body: JSON.stringify(body) }),
  });
  const start = performance.now();
  const response = await http.fetch(request);
  const text = await response.text();
  const ms = performance.now() - start;
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`);
  return { ms, json: JSON.parse(text) };
}

function postgresStorage(database: Database): RunStorage {
  return createPostgresRunStorage({
    ...{
      database: options.explain ? explaining(database) : database,
      clock: systemClock,
      logger,
      readTimeoutMs,
    },
    priceOf: () => undefined,
  });
}

function queryApp(database: Database, storage: RunStorage): HttpApp {
  const caller: Caller = {
    organizationId: workspaceId,
    workspaceId,
    userId: workspaceId,
    role: "admin",
    via: "api_key",
    scopes: null,
    mayUseAccounts: true,
  };
  return createHttpApp({
    routes: createTraceQueries({
      storage,
      read: createBoundedRead(database, readTimeoutMs),
      links: new AttachmentLinks(new SecretBox({ currentKey: "the key of this bench" })),
    }).routes,
    authenticator: { authenticate: async () => caller, loopbackCaller: async () => caller },
    agentAuthRequired: false,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: false,
  });
}

/** Prints the plan of every statement after it ran. */
function explaining(database: Database): Database {
  const executor = database.sql.getExecutor();
  const seen = new Set<string>();
  const explained = new Proxy(executor, {
    get(target, property) {
      if (property !== "executeQuery") {
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      }
      return async (query: Parameters<typeof executor.executeQuery>[0]) => {
        if (!seen.has(query.sql + JSON.stringify(query.parameters))) {
          seen.add(query.sql + JSON.stringify(query.parameters));
          const text = `explain (analyze, buffers) ${query.sql}`;
          const plan = await target.executeQuery({ ...query, sql: text } as typeof query);
          for (const row of plan.rows as Record<string, string>[]) console.log(`    ${row["QUERY PLAN"]}`);
        }
        return target.executeQuery(query);
      };
    },
  });
  const sql = new Proxy(database.sql, {
    get: (target, property) =>
      property === "getExecutor" ? () => explained : Reflect.get(target, property, target),
  });
  return replaceInDatabase(database, { sql, transaction: (work) => work(sql) });
}

if (import.meta.main) await main();
