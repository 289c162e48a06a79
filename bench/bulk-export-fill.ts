import type { Database } from "../src/platform/db/database.ts";
import { raw } from "../src/platform/db/raw.ts";
import { createLogger } from "../src/platform/logger.ts";
import { Partitions } from "../src/traces/storage/postgres/partitions/partition-service.ts";

export const workspaceId = "11111111-1111-4111-8111-111111111111";
export const firstDay = "2026-06-01";
const batchBytes = 8_000_000;

/** The same numbers every time. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

export type FillOptions = {
  projectId: string;
  rows: number;
  /** Bytes of text in inputs and in outputs. */
  payloadBytes: number;
  /** The rows are spread over so many days. */
  days: number;
};

/** Runs of random words, ten to a trace, with some feedback: about 950 bytes a row beside the payloads. */
export async function fillRuns(database: Database, options: FillOptions): Promise<void> {
  const { projectId, rows, payloadBytes, days } = options;
  const batch = Math.max(1, Math.floor(batchBytes / (payloadBytes * 2 + 1_000)));
  const next = randomNumbers(rows);
  const words = Array.from({ length: 5_000 }, () => word(next));
  const text = (bytes: number) => {
    let result = "";
    while (result.length < bytes) result += `${words[Math.floor(next() * words.length)]} `;
    return result;
  };
  const uuid = () => {
    const hex = Array.from({ length: 4 }, () =>
      Math.floor(next() * 2 ** 32)
        .toString(16)
        .padStart(8, "0"),
    ).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  };
  const start = Date.parse(`${firstDay}T00:00:00Z`);
  const partitions = new Partitions({
    database,
    clock: { now: () => new Date(start) },
    logger: createLogger({ level: "warn" }),
  });
  await partitions.ensure([`${firstDay}T00:00:00Z`]);
  let root = uuid();
  for (let from = 0; from < rows; from += batch) {
    const runs = Array.from({ length: Math.min(batch, rows - from) }, (_, offset) => {
      const index = from + offset;
      const id = uuid();
      const isRoot = index % 10 === 0;
      if (isRoot) root = id;
      const at = new Date(start + Math.floor((index * days * 86_400_000) / rows)).toISOString();
      const stamp = `${at.replace(/[-:.]/g, "").slice(0, -1)}000Z`;
      return {
        id,
        trace_id: root,
        parent_run_id: isRoot ? null : root,
        parent_run_ids: isRoot ? [] : [root],
        is_root: isRoot,
        name: `node ${index % 40}`,
        run_type: ["chain", "llm", "tool", "retriever"][index % 4],
        start_time: at.replace("Z", `${String(index % 1000).padStart(3, "0")}Z`),
        end_time: new Date(Date.parse(at) + 1_500).toISOString(),
        status: index % 50 === 0 ? "error" : "success",
        dotted_order: isRoot ? `${stamp}${id}` : `${stamp}${root}.${stamp}${id}`,
        tags: ["production", `v${index % 7}`],
        total_tokens: 1_200 + (index % 300),
        prompt_tokens: 1_000,
        completion_tokens: 200 + (index % 300),
        total_cost: 0.0123,
        prompt_cost: 0.01,
        completion_cost: 0.0023,
        first_token_time: at,
        inputs: JSON.stringify({ messages: [{ role: "user", content: text(payloadBytes) }] }),
        outputs: JSON.stringify({ generations: [{ text: text(payloadBytes) }] }),
        extra: JSON.stringify({
          metadata: { ls_provider: "openai", thread: uuid() },
          runtime: { sdk: "js" },
        }),
        events: JSON.stringify([{ name: "start", time: at }]),
      };
    });
    await insert(database, projectId, runs);
  }
  await raw.raw("vacuum analyze trace_runs").execute(database.sql);
}

function word(next: () => number): string {
  const letters = Array.from({ length: 3 + Math.floor(next() * 8) }, () => 97 + Math.floor(next() * 26));
  return String.fromCharCode(...letters);
}

async function insert(database: Database, projectId: string, runs: object[]): Promise<void> {
  await raw`insert into trace_runs (id, workspace_id, project_id, trace_id, parent_run_id, parent_run_ids, is_root,
      name, run_type, start_time, end_time, status, dotted_order, tags, total_tokens, prompt_tokens,
      completion_tokens, total_cost, prompt_cost, completion_cost, first_token_time, inputs, outputs, extra, events)
    select id, ${workspaceId}, ${projectId}, trace_id, parent_run_id, parent_run_ids, is_root,
      name, run_type, start_time, end_time, status, dotted_order, tags, total_tokens, prompt_tokens,
      completion_tokens, total_cost, prompt_cost, completion_cost, first_token_time, inputs, outputs, extra, events
    from json_populate_recordset(null::trace_runs, ${JSON.stringify(runs)}::json)`.execute(database.sql);
}
