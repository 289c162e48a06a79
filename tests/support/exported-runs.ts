import { randomBytes, randomUUID } from "node:crypto";
import type { Sql } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { tagTerm } from "../../src/traces/runs/term.ts";

/** A run with every field an export may hold; texts as they are stored, times with microseconds. */
export type StoredRun = {
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  parent_run_ids: string[];
  reference_example_id: string | null;
  name: string;
  run_type: string;
  start_time: string;
  end_time: string | null;
  status: string;
  is_root: boolean;
  dotted_order: string;
  trace_tier: string;
  inputs: string | null;
  outputs: string | null;
  error: string | null;
  extra: string | null;
  events: string | null;
  tags: string[];
  total_tokens: string;
  prompt_tokens: string;
  completion_tokens: string;
  total_cost: number | null;
  prompt_cost: number | null;
  completion_cost: number | null;
  first_token_time: string | null;
};

export function storedRun(start_time: string, run: Partial<StoredRun> = {}): StoredRun {
  const id = run.id ?? randomUUID();
  return {
    id,
    trace_id: id,
    parent_run_id: null,
    parent_run_ids: [],
    reference_example_id: null,
    name: "a run",
    run_type: "chain",
    start_time,
    end_time: null,
    status: "pending",
    is_root: true,
    dotted_order: `${start_time.replace(/[-:.]/g, "")}${id}`,
    trace_tier: "longlived",
    inputs: null,
    outputs: null,
    error: null,
    extra: null,
    events: null,
    tags: [],
    total_tokens: "0",
    prompt_tokens: "0",
    completion_tokens: "0",
    total_cost: null,
    prompt_cost: null,
    completion_cost: null,
    first_token_time: null,
    ...run,
  };
}

export async function storeRuns(
  sql: Sql,
  place: { workspaceId: string; projectId: string },
  runs: readonly StoredRun[],
): Promise<void> {
  const rows = runs.map((run) => ({ ...run, terms: run.tags.map(tagTerm) }));
  await raw`insert into trace_runs (id, workspace_id, project_id, trace_id, parent_run_id, parent_run_ids,
      reference_example_id, name, run_type, start_time, end_time, status, is_root, dotted_order, trace_tier, inputs,
      outputs, error, extra, events, tags, total_tokens, prompt_tokens, completion_tokens, total_cost, prompt_cost,
      completion_cost, first_token_time, terms)
    select id, ${place.workspaceId}, ${place.projectId}, trace_id, parent_run_id, parent_run_ids,
      reference_example_id, name, run_type, start_time, end_time, status, is_root, dotted_order, trace_tier, inputs,
      outputs, error, extra, events, tags, total_tokens, prompt_tokens, completion_tokens, total_cost, prompt_cost,
      completion_cost, first_token_time, terms
    from json_populate_recordset(null::trace_runs, ${JSON.stringify(rows)}::json)`.execute(sql);
}

/** Many small runs of one day, a second apart. */
export function manyRuns(count: number, day: string, payload = ""): StoredRun[] {
  return Array.from({ length: count }, (_, index) => {
    const at = new Date(Date.parse(`${day}T00:00:00Z`) + index * 1000).toISOString();
    return storedRun(at.replace("Z", "001Z"), {
      name: `run ${index}`,
      inputs: JSON.stringify({ index, payload }),
    });
  });
}

const parent = randomUUID();
const megabyte = JSON.stringify({ text: randomBytes(524_288).toString("hex") });

/** One of everything that has ever broken an export. */
export const oddRuns = (): StoredRun[] => [
  storedRun("2024-02-29T00:00:00.000000Z", { name: "leap day, first microsecond" }),
  storedRun("2024-02-29T23:59:59.999999Z", {
    name: "leap day, last microsecond",
    end_time: "2024-03-01T00:00:00.000001Z",
  }),
  storedRun("2024-03-01T00:00:00.000001Z", {
    name: "日本語 – Ünïcödé – 🧵👩‍🚀 – \u202Eright to left",
    run_type: "llm",
    status: "error",
    error: "line one\nline two\ttab \"quotes\" 'single' , ; \\backslash\\ \u0001",
    inputs: JSON.stringify({ "emoji 🧵": "👩‍🚀", nul: "\u0000", lone: "\\ud800", csv: 'a,"b"\n' }),
    outputs: "null",
    extra: "{}",
    events: "[]",
    tags: ["", "a,b", '"', "ü", "a,b"],
    is_root: false,
    trace_id: parent,
    parent_run_id: parent,
    parent_run_ids: [randomUUID(), parent],
    reference_example_id: randomUUID(),
    total_tokens: "9223372036854775807",
    prompt_tokens: "4611686018427387904",
    completion_tokens: "9007199254740993",
    total_cost: 0.1,
    prompt_cost: 1e-15,
    completion_cost: 123456789.12345678,
    first_token_time: "2024-03-01T00:00:00.500001Z",
  }),
  storedRun("2024-03-01T12:00:00.123456Z", {
    name: "",
    tags: ["only"],
    inputs: "",
    trace_tier: "shortlived",
  }),
  storedRun("2024-03-01T12:00:00.123456Z", { name: "a megabyte", inputs: megabyte, outputs: megabyte }),
  storedRun("2024-03-02T00:00:00.000000Z", { name: "at the exclusive end" }),
];
