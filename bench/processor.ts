import { createHash } from "node:crypto";
import { startTestAgentServer } from "../tests/support/agent-server.ts";
import { openBenchDatabase } from "./bench-database.ts";
import { HttpClient } from "./http-client.ts";
import { formatTable, median } from "./load.ts";
import { checkProcessor, recordProcessor } from "./processor-check.ts";
import { echoRun } from "./runs.ts";

/**
 * What does an echo run cost in processor time, as a multiple of a fixed piece of work in the same process? The work is
 * measured just before and just after, so that a slower machine slows both. Server and client share the process;
 * PostgreSQL is not counted.
 *   node bench/processor.ts            measures
 *   node bench/processor.ts --json     the same, as one line of JSON
 *   node bench/processor.ts --check    fails when it is more than a tenth above that of the commit in bench/recorded.json
 *   node bench/processor.ts --record   names the commit that is checked out there
 */
export type ProcessorFigure = { ratio: number; ratios: number[]; runMs: number };

const passes = 150;
const runs = 80;
const clients = 8;

const document = {
  messages: Array.from({ length: 60 }, (_, index) => ({
    id: `message-${index}`,
    type: index % 2 === 0 ? "human" : "ai",
    content: `${index} the quick brown fox jumps over a lazy dog `.repeat(8),
  })),
};

/** Of the kinds of work a run is made of: text is written, read, hashed, and objects are made and sorted. */
function pass(): number {
  const text = JSON.stringify(document);
  const read = JSON.parse(text) as typeof document;
  const hash = createHash("sha256").update(text).digest("hex");
  const byId = new Map(read.messages.map((message) => [`${hash}${message.id}`, { ...message }]));
  return [...byId.keys()].sort().join().length;
}

function usedMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

/** Processor milliseconds of one pass. */
function measurePasses(): number {
  const since = process.cpuUsage();
  let total = 0;
  for (let index = 0; index < passes; index += 1) total += pass();
  if (total === 0) throw new Error("The yardstick did nothing.");
  return usedMs(since) / passes;
}

async function runMany(http: HttpClient, count: number): Promise<void> {
  let left = count;
  const loop = async () => {
    while (left-- > 0) await echoRun(http);
  };
  await Promise.all(Array.from({ length: clients }, loop));
}

/** The median of the rounds. The first runs compile the code and are not counted. */
export async function measureProcessor(rounds: number): Promise<ProcessorFigure> {
  const database = await openBenchDatabase();
  const server = await startTestAgentServer(database.url);
  const http = new HttpClient(Number(new URL(server.url).port), clients);
  try {
    await runMany(http, 400);
    measurePasses();
    const ratios: number[] = [];
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = measurePasses();
      const since = process.cpuUsage();
      await runMany(http, runs);
      const runMs = usedMs(since) / runs;
      ratios.push((2 * runMs) / (before + measurePasses()));
      times.push(runMs);
    }
    return { ratio: median(ratios), ratios, runMs: median(times) };
  } finally {
    http.close();
    await server.stop();
    await database.stop();
  }
}

async function main(): Promise<void> {
  if (process.argv.includes("--check")) process.exit((await checkProcessor()) ? 0 : 1);
  if (process.argv.includes("--record")) return recordProcessor();
  const figure = await measureProcessor(12);
  if (process.argv.includes("--json")) console.log(JSON.stringify(figure));
  else
    console.log(
      formatTable([
        { question: "echo run, yardsticks of processor time, median", figure: figure.ratio },
        { question: "least of the rounds", figure: Math.min(...figure.ratios) },
        { question: "most of the rounds", figure: Math.max(...figure.ratios) },
        { question: "echo run, ms of processor time", figure: figure.runMs },
      ]),
    );
  process.exit(0);
}

if (import.meta.main) await main();
