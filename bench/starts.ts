import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { quickProject } from "../tests/support/quick-project.ts";
import { openBenchDatabase } from "./bench-database.ts";
import { formatTable, median } from "./load.ts";

/**
 * What does a start cost, in processor time of the process until it is ready and by the clock?
 * `npm run bench -- starts [--rounds 5] [--only up] [CHECKOUT ...]`: several checkouts take turns.
 */
const own = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "5" }, only: { type: "string", default: "" } },
});
const checkouts = (positionals.length > 0 ? positionals : [own]).map((path) => resolve(path));
const folder = mkdtempSync(join(tmpdir(), "treadle-bench-"));
const database = await openBenchDatabase();

type Subject = { name: string; words: string[]; env?: Record<string, string>; emptyCache?: boolean };
type Figure = { cpuMs: number; wallMs: number };

function makeProject(name: string, extension: string): string {
  const files: Record<string, unknown> = quickProject(name);
  for (const [path, text] of Object.entries(files)) {
    const place = join(folder, name, path.replace(/(graph|app)\.js$/, `$1.${extension}`));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, String(text).replaceAll(/(graph|app)\.js:/g, `$1.${extension}:`));
  }
  symlinkSync(join(own, "node_modules"), join(folder, name, "node_modules"));
  return join(folder, name, "langgraph.json");
}

const agent = ["agent", "--json", "--port", "0", "--config"];
const up = ["up", "--json", "--port", "0", "--data-dir"];
const outside = { DATABASE_URL: database.url };
const javascript = makeProject("javascript", "js");
const subjects: Subject[] = [
  { name: "--help", words: ["--help"] },
  { name: "up, external database", words: [...up, join(folder, "external")], env: outside },
  { name: "up, embedded database", words: [...up, join(folder, "embedded")] },
  { name: "agent, JavaScript", words: [...agent, javascript], env: outside },
  { name: "agent, TypeScript", words: [...agent, makeProject("typescript", "ts")], env: outside },
  { name: "agent, nothing compiled", words: [...agent, javascript], env: outside, emptyCache: true },
].filter(({ name }) => name.includes(values.only));

/** Of the process itself, ended threads included. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function measure(
  checkout: string,
  { name, words, env, emptyCache }: Subject,
  round: number,
): Promise<Figure> {
  const compiled = join(folder, `compiled-${checkouts.indexOf(checkout)}`);
  const began = performance.now();
  const child = spawn(process.execPath, [join(checkout, "bin/treadle.js"), ...words], {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TREADLE_LOG_LEVEL: "warn",
      NODE_COMPILE_CACHE: emptyCache ? `${compiled}-${round}` : compiled,
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((done, reject) => {
    let text = "";
    let figure: Figure | undefined;
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk;
      const ready = words.includes("--help") ? text.includes("completion") : text.includes('"url"');
      if (!ready || figure) return;
      figure = { cpuMs: cpuMs(child.pid!), wallMs: performance.now() - began };
      child.kill("SIGTERM");
    });
    child.once("exit", () => (figure ? done(figure) : reject(new Error(`${name} did not start: ${text}`))));
  });
}

// As `npm ci` leaves them, also if a source was edited since.
for (const checkout of checkouts) execFileSync(process.execPath, [join(checkout, "scripts/build-start.ts")]);
const rows: Record<string, string | number>[] = [];
for (const subject of subjects) {
  const figures = checkouts.map((): Figure[] => []);
  // The first round creates data folders and compiles, and does not count.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    for (const [index, checkout] of checkouts.entries()) {
      const figure = await measure(checkout, subject, round);
      if (round > 0) figures[index]!.push(figure);
    }
  }
  for (const [index, checkout] of checkouts.entries()) {
    const cpu = figures[index]!.map((each) => each.cpuMs);
    rows.push({
      start: subject.name,
      checkout,
      "processor ms": median(cpu),
      least: Math.min(...cpu),
      "clock ms": Math.round(median(figures[index]!.map((each) => each.wallMs))),
    });
  }
}
console.log(formatTable(rows));
await database.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
