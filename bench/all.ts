import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { raw } from "../src/platform/db/raw.ts";
import { measureSubject } from "./agent-figures.ts";
import { Answers } from "./answers.ts";
import { openBenchDatabase } from "./bench-database.ts";
import { measureFoundation } from "./foundation.ts";
import { openGrownDatabase } from "./grown-database.ts";
import { describeCode, describeMachine, loadNow } from "./machine.ts";
import { measureProcessor } from "./processor.ts";
import { recordProcessor } from "./processor-check.ts";
import { measureWords } from "./streaming.ts";
import { missingPeer, ours, oursIn, oursOn, peer, peerPackage, type Subject } from "./subjects.ts";
import { measureIngestion } from "./traces.ts";

/**
 * The questions that count, as one table beside the open in-memory server, on an empty and on a grown database.
 *   npm run bench -- all [--rounds 3] [--grown 50000] [--out FILE]
 *     --short     a second or less for each: shows that it works, the figures mean little
 *     --ours      without the peer
 *     --before FOLDER   beside an earlier Treadle instead of the peer: a checkout with its packages installed
 *     --record    appends the table to bench/history.md and names this commit as the one to compare processor time with
 */
const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    ours: { type: "boolean", default: false },
    before: { type: "string" },
    record: { type: "boolean", default: false },
    rounds: { type: "string" },
    grown: { type: "string" },
    out: { type: "string" },
  },
});
const short = values.short;
const rounds = wholeNumber("rounds", values.rounds ?? (short ? "1" : "3"), 1);
const grown = wholeNumber("grown", values.grown ?? (short ? "10000" : "50000"), 1_000);
const seconds = short ? 1 : 3;
const folder = fileURLToPath(new URL(".", import.meta.url));
const out = resolve(values.out ?? `${folder}../.treadle/bench.md`);
if (values.record && short)
  throw new Error("--short measures too little to be recorded. Leave one of the two out.");

const columns = {
  empty: "treadle",
  grown: `treadle, ${grown.toLocaleString("en")} rows a table`,
  beside: values.before ? "before" : "peer",
};
/** What stands in the last column. */
const beside = values.before ? oursIn(resolve(values.before)) : peer;
const answers = new Answers(Object.values(columns));

function wholeNumber(name: string, text: string, least: number): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < least)
    throw new Error(`--${name} takes a whole number from ${least} on, not "${text}".`);
  return number;
}

/** One that fails is left out aloud: the others took minutes. */
async function step(what: string, work: () => Promise<void>): Promise<void> {
  console.error(`${new Date().toISOString().slice(11, 19)} ${what}`);
  try {
    await work();
  } catch (error) {
    console.error(`${what} FAILED:`, error);
    answers.note(`Not measured: ${what}. ${String(error).split("\n")[0]}`);
  }
}

/** In turn, and the other way round in the next round: what the machine does meanwhile falls on both. */
function inTurn(subjects: readonly Subject[]): Subject[] {
  return Array.from({ length: rounds }, (_, round) =>
    round % 2 === 0 ? subjects : subjects.toReversed(),
  ).flat();
}

async function measureStarts(): Promise<void> {
  const figures = await measureFoundation({
    rounds: short ? 1 : 5,
    idleMs: short ? 1_000 : 10_000,
    seconds,
  });
  answers.add(columns.empty, { "treadle up, first start ms": figures.firstStartMs });
  for (const warm of figures.warmStartsMs) answers.add(columns.empty, { "treadle up, warm start ms": warm });
  answers.add(columns.empty, {
    "treadle up, memory while idle MB": figures.idleMb,
    "GET /ok per s, 32": figures.ok["per s"],
  });
}

const agentNames: Record<string, string> = {
  "start to /ok ms": "agent server, start to /ok ms",
  "memory at start MB": "agent server, memory at start MB",
  "memory at the end MB": "agent server, memory after the load MB",
};

async function measureAgent(subject: Subject, column: string): Promise<void> {
  const figures = await measureSubject(subject, seconds);
  for (const [question, figure] of Object.entries(figures))
    answers.add(column, { [agentNames[question] ?? question]: figure });
  if (figures["memory at the end MB"] === undefined)
    answers.note(`In one round ${subject.name} failed midway: not all of its figures are there.`);
}

async function measureTraces(): Promise<void> {
  const batches = short ? 20 : 200;
  const stages = [5_000, ...(grown > 5_000 ? [grown] : [])];
  const rows = await measureIngestion({ batches, clients: 8, stages, engine: "postgres" });
  for (const [index, row] of rows.entries()) {
    answers.add(index === 0 ? columns.empty : columns.grown, {
      "trace ingestion, runs of 2.75 KB per s": row["runs/s"],
      "trace ingestion, batch of 100 p99 ms": row["p99 ms"],
      "trace ingestion, processor of the server per run µs": row["server CPU us/run"],
      "trace ingestion, processor of PostgreSQL per run µs": row["Postgres CPU us/run"],
    });
  }
}

async function measureGrown(): Promise<void> {
  const database = await openGrownDatabase(grown);
  try {
    const subject = oursOn(database.url);
    for (let round = 0; round < rounds; round += 1) await measureAgent(subject, columns.grown);
  } finally {
    await database.stop();
  }
}

async function postgresVersion(): Promise<string> {
  const { database, stop } = await openBenchDatabase();
  try {
    const { rows } = await raw<{
      version: string;
    }>`select current_setting('server_version') as version`.execute(database.sql);
    return rows[0]!.version;
  } finally {
    await stop();
  }
}

async function measureAll(): Promise<void> {
  await step("processor time of a run", async () => {
    const figure = await measureProcessor(short ? 3 : 12);
    for (const ratio of figure.ratios)
      answers.add(columns.empty, { "echo run, yardsticks of processor time": ratio });
  });
  const absent = values.ours ? "--ours leaves it out." : values.before ? undefined : missingPeer();
  if (absent) {
    console.error(`Without the peer: ${absent}`);
    answers.note(`Without the peer: ${absent}`);
  }
  const subjects = absent ? [ours] : [ours, beside];
  const columnOf = (subject: Subject) => (subject === beside ? columns.beside : columns.empty);
  await step("treadle up: starts, memory", measureStarts);
  for (const subject of inTurn(subjects))
    await step(`agent server: ${subject.name}`, () => measureAgent(subject, columnOf(subject)));
  for (const subject of inTurn(subjects))
    await step(`words to a client: ${subject.name}`, async () =>
      answers.add(columnOf(subject), await measureWords(subject)),
    );
  await step(`agent server on ${grown} rows a table`, measureGrown);
  await step("trace ingestion", measureTraces);
}

// Before anything is recorded, which changes a file.
const code = describeCode();
const loadBefore = loadNow();
const began = performance.now();
const version = await postgresVersion();
await measureAll();
const minutes = ((performance.now() - began) / 60_000).toFixed(1);
const table = [
  `## ${code}, ${new Date().toISOString().slice(0, 10)}`,
  "",
  `${describeMachine(version)}. Load before ${loadBefore}, after ${loadNow()}. Medians of ${rounds} ${rounds === 1 ? "round" : "rounds"}, ${seconds} s a point, in brackets the least and the most; ${minutes} minutes in all.`,
  `${values.before ? `Before is ${describeCode(values.before)}.` : `The peer is ${peerPackage} \`dev\`, in memory; Treadle is durable in PostgreSQL.`} Load, server and PostgreSQL share the machine.`,
  ...(short ? ["", "Measured with --short: the figures mean little."] : []),
  "",
  answers.toMarkdown(),
  "",
].join("\n");
console.log(table);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, table);
console.error(`Written to ${out}`);
if (values.record) {
  recordProcessor();
  appendFileSync(`${folder}history.md`, `\n${table}`);
}
process.exit(0);
