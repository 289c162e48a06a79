import { createHash, randomBytes } from "node:crypto";

export const workspaceId = "00000000-0000-4000-8000-000000000001";
export const projectIds = Array.from({ length: 10 }, (_, n) => `00000000-0000-4000-9000-00000000000${n}`);
/** In one run of twenty thousand. */
export const rareWord = "quetzalcoatlus";

/** Not random from run to run of the bench, so that all variants store the same. */
class Numbers {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  next(below: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * below);
  }
}

const syllables = "ba ce di fo gu la me ni po ru sa te vi zo ka le mi no pu ra".split(" ");
const words = Array.from({ length: 6_000 }, (_, n) =>
  [n % 20, Math.floor(n / 20) % 20, Math.floor(n / 400)].map((each) => syllables[each % 20]).join(""),
);

function sentence(numbers: Numbers, length: number): string {
  // Squared, so that some words are far more frequent than others, as in texts of people.
  return Array.from({ length }, () => words[Math.floor(numbers.next(6_000) ** 2 / 6_000)]).join(" ");
}

export type BenchRun = {
  workspace_id: string;
  project_id: string;
  id: string;
  trace_id: string;
  start_time: string;
  end_time: string;
  dotted_order: string;
  name: string;
  run_type: string;
  status: string;
  tags: string[];
  metadata: Record<string, string>;
  total_tokens: number;
  total_cost: string;
  inputs: string;
  outputs: string;
};

/** Five runs a trace, spread over thirty days, about 1.8 kB of payloads each. */
export function makeRuns(count: number, from = 0): BenchRun[] {
  const runs: BenchRun[] = [];
  for (let n = from; n < from + count; n += 1) {
    const numbers = new Numbers(n * 7_919 + 17);
    const trace = Math.floor(n / 5);
    const startMs = Date.UTC(2026, 9, 1) + trace * 64_800 + (n % 5) * 130;
    const start = timeText(startMs);
    const id = uuidOf(`run ${n}`);
    const text = sentence(numbers, 120) + (n % 20_000 === 7 ? ` ${rareWord}` : "");
    runs.push({
      workspace_id: workspaceId,
      project_id: projectIds[trace % projectIds.length]!,
      id,
      trace_id: uuidOf(`run ${trace * 5}`),
      start_time: start,
      end_time: timeText(startMs + 50 + numbers.next(4_000)),
      dotted_order: `${start}${uuidOf(`run ${trace * 5}`)}.${start}${id}`,
      name: ["agent", "retriever", "ChatModel", "tools", "parser"][n % 5]!,
      run_type: ["chain", "retriever", "llm", "tool", "parser"][n % 5]!,
      status: numbers.next(50) === 0 ? "error" : "success",
      tags: [`release-${numbers.next(30)}`, numbers.next(2) ? "production" : "staging"],
      metadata: {
        user: `user-${numbers.next(20_000)}`,
        thread_id: `thread-${trace % 8_000}`,
        revision: `r${numbers.next(40)}`,
        region: ["eu", "us", "ap"][numbers.next(3)]!,
        [`custom_${numbers.next(60)}`]: String(numbers.next(1_000)),
      },
      total_tokens: numbers.next(4_000),
      total_cost: (numbers.next(100_000) / 1e6).toFixed(6),
      inputs: JSON.stringify({ messages: [{ role: "user", content: sentence(numbers, 110) }], key: n }),
      outputs: JSON.stringify({ messages: [{ role: "assistant", content: text }] }),
    });
  }
  return runs;
}

const timeText = (ms: number) => `${new Date(ms).toISOString().replace("T", " ").slice(0, 23)}000`;

/** As random as one from a client, and the same each time. */
export function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

export const newName = (prefix: string) => `${prefix}_${randomBytes(4).toString("hex")}`;
