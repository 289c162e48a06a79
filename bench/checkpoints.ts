import { randomUUID } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint";
import { listCheckpointValues } from "../src/agent-server/checkpoints/checkpoint-reader.ts";
import { CheckpointStore } from "../src/agent-server/checkpoints/checkpoint-store.ts";
import {
  type CheckpointSaver,
  createCheckpointSaver,
} from "../src/agent-server/graphs/javascript/checkpoint-saver.ts";
import { type GraphKit, loadServerKit } from "../src/agent-server/graphs/javascript/graph-kit.ts";
import { checkpointerKey } from "../src/agent-server/graphs/javascript/graph-state.ts";
import { MessageCodec } from "../src/agent-server/graphs/javascript/message-codec.ts";
import { createEchoGraph } from "../src/builtin-graphs/echo-graph.ts";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import type { Database } from "../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { createLogger } from "../src/platform/logger.ts";

export type CheckpointResult = { question: string; value: string };

const runMs = 5_000;
const atOnce = 32;
const logger = createLogger({ level: "warn" });

/** What does durability cost a graph, and how fast is its history read? */
export async function run(options: { url: string }): Promise<CheckpointResult[]> {
  const database = openDatabase({ url: options.url, poolSize: 10, logger });
  try {
    const kit = await loadServerKit();
    const store = new CheckpointStore(database);
    const saver = createCheckpointSaver(kit, store);
    const fenced = await fencedSavers(database, saver);
    return [
      {
        question: `echo runs/s, ${atOnce} at once, in memory`,
        value: await measureRuns([new MemorySaver()]),
      },
      {
        question: `echo runs/s, ${atOnce} at once, durability async`,
        value: await measureRuns(fenced, "async"),
      },
      {
        question: `echo runs/s, ${atOnce} at once, durability sync`,
        value: await measureRuns(fenced, "sync"),
      },
      ...(await measureHistory(store, saver)),
      ...(await measureCodec(kit)),
    ];
  } finally {
    await database.close();
  }
}

export function formatTable(results: CheckpointResult[]): string {
  const width = Math.max(...results.map((result) => result.question.length));
  return results.map((result) => `${result.question.padEnd(width)}  ${result.value}`).join("\n");
}

/** One saver per slot, under the fence of a run that is really there: the check is part of the cost. */
async function fencedSavers(database: Database, saver: CheckpointSaver): Promise<BaseCheckpointSaver[]> {
  const rows = await database.query<{ run_id: string }>(
    {
      name: "bench_runs_v1",
      text: `
with t as (
  insert into threads (thread_id, workspace_id)
  select gen_random_uuid(), gen_random_uuid() from generate_series(1, $1::int)
  returning thread_id, workspace_id
)
insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy,
  kwargs_json, attempt)
select gen_random_uuid(), thread_id, workspace_id, gen_random_uuid(), 'echo', 'running', 'enqueue', '{}', 1
from t returning run_id`,
    },
    [atOnce],
  );
  return rows.map((row) =>
    saver.forRun({ fence: { runId: row.run_id, attempt: 1 }, metadata: { run_id: row.run_id } }),
  );
}

async function measureRuns(
  savers: BaseCheckpointSaver[],
  durability: "async" | "sync" = "async",
): Promise<string> {
  const graph = createEchoGraph();
  const waits: number[] = [];
  const one = async (slot: number) => {
    const saver = savers[slot % savers.length];
    const startMs = performance.now();
    await graph.invoke(
      { messages: [new HumanMessage("hello")] },
      { configurable: { thread_id: randomUUID(), [checkpointerKey]: saver }, durability },
    );
    waits.push(performance.now() - startMs);
  };
  await Promise.all(Array.from({ length: atOnce }, (_, slot) => one(slot)));
  waits.length = 0;
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  const slots = Array.from({ length: atOnce }, async (_, slot) => {
    while (performance.now() - startMs < runMs) await one(slot);
  });
  await Promise.all(slots);
  const elapsedMs = performance.now() - startMs;
  const used = process.cpuUsage(cpu);
  const cores = (used.user + used.system) / 1_000 / elapsedMs;
  return `${Math.round((waits.length * 1_000) / elapsedMs)}/s, ${percentiles(waits)}, ${cores.toFixed(2)} cores here`;
}

/** A thread of 200 messages and 100 runs: 300 checkpoints, of which the newest 100 are asked for. */
async function measureHistory(store: CheckpointStore, saver: CheckpointSaver): Promise<CheckpointResult[]> {
  const graph = createEchoGraph();
  const threadId = randomUUID();
  const config = { configurable: { thread_id: threadId, [checkpointerKey]: saver } };
  for (let turn = 0; turn < 100; turn += 1) {
    await graph.invoke({ messages: [new HumanMessage(`turn ${turn} ${"word ".repeat(60)}`)] }, config);
  }
  const byGraph = await times(10, async () => {
    for await (const _ of graph.getStateHistory(config as never, { limit: 100 }));
  });
  const bySaver = await times(10, async () => {
    for await (const _ of saver.list(config, { limit: 100 }));
  });
  const byReader = await times(10, async () => {
    for await (const _ of listCheckpointValues(store, { threadId, checkpointNs: "", limit: 100 }));
  });
  const latest = await times(50, () => saver.getTuple(config));
  return [
    { question: "history of 100, 200 messages, through the graph", value: percentiles(byGraph) },
    { question: "history of 100, 200 messages, through the saver", value: percentiles(bySaver) },
    { question: "history of 100, 200 messages, wire form", value: percentiles(byReader) },
    { question: "latest state, 200 messages", value: percentiles(latest) },
  ];
}

async function measureCodec(kit: GraphKit): Promise<CheckpointResult[]> {
  const codec = new MessageCodec(kit);
  const messages: BaseMessage[] = Array.from({ length: 200 }, (_, index) =>
    index % 2 === 0
      ? new HumanMessage({ content: "word ".repeat(60), id: randomUUID() })
      : new AIMessage({ content: "word ".repeat(60), id: randomUUID() }),
  );
  const payload = await codec.encode(messages);
  const ours = { encode: () => codec.encode(messages), decode: () => codec.decode(payload) };
  const theirs = {
    encode: () => kit.serde.dumpsTyped(messages),
    decode: () => kit.serde.loadsTyped("json", payload.text),
  };
  return [
    { question: "200 messages written, ours", value: percentiles(await times(200, ours.encode)) },
    { question: "200 messages written, the library's", value: percentiles(await times(200, theirs.encode)) },
    { question: "200 messages read, ours", value: percentiles(await times(200, ours.decode)) },
    { question: "200 messages read, the library's", value: percentiles(await times(200, theirs.decode)) },
  ];
}

async function times(count: number, work: () => unknown): Promise<number[]> {
  await work();
  const found: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const startMs = performance.now();
    await work();
    found.push(performance.now() - startMs);
  }
  return found;
}

function percentiles(values: number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]?.toFixed(2);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

/** Its own server with its default settings, so that commits cost what they cost. */
async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  await chmod(folder, 0o711);
  const server = await startEmbeddedPostgres({ dataDir: folder, logger });
  try {
    const directory = fileURLToPath(new URL("../migrations", import.meta.url));
    await migrate({ url: server.url, directory, logger });
    console.log(formatTable(await run({ url: server.url })));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await main();
