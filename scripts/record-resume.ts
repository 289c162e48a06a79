/**
 * Makes docs/resume.svg: a moving picture of a run that goes on after `kill -9`. It records a real run: starts a server,
 * streams an answer, kills the server in the middle, starts it again, and writes down what came when.
 * Run it with `node scripts/record-resume.ts`.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { startTreadle } from "../tests/support/treadle.ts";
import { drawTerminal, type Shown } from "./terminal-picture.ts";

const folder = await mkdtemp(join(tmpdir(), "treadle-recording-"));
const dataDir = join(folder, "data");
const shown: Shown[] = [];
const began = performance.now();
const note = (text: string, style: Shown["style"]) =>
  shown.push({ atMs: performance.now() - began, text, style });

async function serve() {
  return startTreadle(["--data-dir", dataDir], { env: { TREADLE_RUN_LEASE_SECONDS: "2" } });
}

let server = await serve();
const port = String(server.ready.port);
const client = new Client({ apiUrl: server.ready.url, apiKey: server.ready.api_key });
const thread = await client.threads.create();
const input = { messages: [{ role: "user", content: "Research the history of the loom" }] };
note("$ treadle runs start agent --input 'Research the history of the loom'", "command");
const config = { configurable: { token_delay_ms: 60 } };
const run = await client.runs.create(thread.thread_id, "agent", { input, config, streamMode: ["updates"] });

/** Notes each step of the run once, the first alone or all to the end; the id of the last event. */
async function follow(lastEventId: string, steps: "first" | "all"): Promise<string> {
  let last = lastEventId;
  const options = { streamMode: "updates" as const, lastEventId };
  try {
    for await (const event of client.runs.joinStream(thread.thread_id, run.run_id, options)) {
      if (event.id !== undefined) last = event.id;
      if (event.event !== "updates") continue;
      const nodes = Object.keys(event.data as object).filter((name) => !name.startsWith("__"));
      for (const node of nodes) note(`  ✓ ${node}`, "step");
      if (steps === "first" && nodes.length > 0) return last;
    }
  } catch (error) {
    note(`  ${(error as Error).message.slice(0, 60)}`, "trouble");
  }
  return last;
}

const last = await follow("-1", "first");
note(`$ kill -9 ${server.pid}`, "command");
server.signal("SIGKILL");
await server.exited;
note("  the server is gone, in the middle of the run", "trouble");
note("$ treadle up", "command");
server = await startTreadle(["--data-dir", dataDir, "--port", port], {
  env: { TREADLE_RUN_LEASE_SECONDS: "2" },
});
note("  the run goes on from its last checkpoint", "good");
await follow(last, "all");
const { status } = await client.runs.get(thread.thread_id, run.run_id);
note(`  run ${run.run_id.slice(0, 8)}: ${status}`, status === "success" ? "good" : "trouble");
await server.stop();
await rm(folder, { recursive: true });
await writeFile(new URL("../docs/resume.svg", import.meta.url), drawTerminal(shown));
process.stdout.write(
  `${shown.map(({ atMs, text }) => `${(atMs / 1000).toFixed(1)} s ${text}`).join("\n")}\n`,
);
