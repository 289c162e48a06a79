import { cpus } from "node:os";
import { searchThreads } from "../src/agent-server/threads/thread-store.ts";
import { wordBitsOf } from "../src/agent-server/threads/thread-words.ts";
import { raw } from "../src/platform/db/raw.ts";
import { openBenchDatabase } from "./bench-database.ts";
import { median } from "./load.ts";

/**
 * How long does it take to find threads by words and by metadata among 100,000, on a vacuumed and analyzed database?
 *   node bench/threads-search.ts        BENCH_THREADS=1000000 for more
 */
const threads = Number(process.env.BENCH_THREADS ?? 100_000);
const tries = 15;
const workspaceId = "00000000-0000-4000-8000-000000000001";
const vocabulary =
  "the weaver asked how a loom with punched cards keeps its pattern when the thread breaks and who mends it before morning invoices shipping refund account password delivery colour wool cotton silk order question answer because nothing works today".split(
    " ",
  );

/** Some 1.5 KB, as two or three messages are. */
function valuesOf(number: number): string {
  const words = Array.from(
    { length: 120 },
    (_, at) => vocabulary[(number * 31 + at * 7 + ((at * number) % 13)) % vocabulary.length],
  );
  const rare = number % 10_000 === 77 ? ` zebrafish${number}` : "";
  const content = `${words.join(" ")} ${number}${rare}`;
  const message = (type: string, id: string) => ({
    id,
    type,
    content,
    additional_kwargs: {},
    response_metadata: {},
  });
  return JSON.stringify({ messages: [message("human", `h${number}`), message("ai", `a${number}`)] });
}

const bench = await openBenchDatabase();
const { sql } = bench.database;
try {
  for (let from = 0; from < threads; from += 2_000) {
    const rows = Array.from({ length: Math.min(2_000, threads - from) }, (_, at) => valuesOf(from + at));
    await raw`insert into threads (thread_id, workspace_id, status, metadata, values_json, trigrams, created_at, updated_at)
      select gen_random_uuid(), ${workspaceId}, 'idle', jsonb_build_object('user', 'user' || (${from}::int + n) % 1000),
        q.values_json, q.trigrams::bit(1024), now() - make_interval(secs => ${from}::int + n), now() - make_interval(secs => ${from}::int + n)
      from unnest(${rows}::text[], ${rows.map(wordBitsOf)}::text[]) with ordinality as q(values_json, trigrams, n)`.execute(
      sql,
    );
  }
  await raw`vacuum analyze threads`.execute(sql);
  console.log(`machine: ${cpus().length} × ${cpus()[0]?.model}; ${threads} threads`);
  const page = { limit: 25, offset: 0, sort_by: "updated_at", sort_order: "desc" } as const;
  const asks: [string, object][] = [
    ["a word nearly every thread holds", { query: "loom" }],
    ["two words of ten threads", { query: "zebrafish loom" }],
    ["a word no thread holds", { query: "quagmire" }],
    ["one of a thousand users", { metadata: { user: "user7" } }],
    ["a user and a word", { metadata: { user: "user7" }, query: "refund" }],
    ["no filter", {}],
  ];
  for (const [name, filter] of asks) {
    const took: number[] = [];
    let found = 0;
    for (let at = 0; at < tries; at++) {
      const begin = performance.now();
      const { rows } = await searchThreads(sql, { workspaceId, ...filter } as never, page);
      took.push(performance.now() - begin);
      found = rows.length;
    }
    console.log(
      `${name}: ${median(took).toFixed(1)} ms median, ${Math.max(...took).toFixed(1)} ms worst, ${found} found`,
    );
  }
} finally {
  await bench.stop();
}
