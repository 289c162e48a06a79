/**
 * The gateway of two versions of the code, both running, loaded in turn with the order reversed each round; medians.
 * `node bench/gateway-versions.ts [--before COMMIT] [--rounds 7] [--seconds 4] [--connections 16]`. The rest of the
 * platform differs between the commits too, but what a request passes is the gateway, access and the server behind.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { formatTable, median } from "./load.ts";

const { values } = parseArgs({
  options: {
    before: { type: "string", default: "26cb6c7" },
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "4" },
    connections: { type: "string", default: "16" },
  },
});
const root = fileURLToPath(new URL("..", import.meta.url));
const git = (...args: string[]) => execFileSync("git", ["-C", root, ...args], { encoding: "utf8" }).trim();

type Subject = {
  name: string;
  pid: number;
  url: string;
  headers: Record<string, string>;
  child: ChildProcess;
};
type Figures = { perSecond: number; p50: number; p99: number; microseconds: number; failed: number };

async function start(name: string, folder: string): Promise<Subject> {
  const script = join(root, "bench/gateway-subject.ts");
  const child = spawn(process.execPath, [script, folder], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await Promise.race([
    createInterface({ input: child.stdout! })
      [Symbol.asyncIterator]()
      .next()
      .then(({ value }) => [value as string]),
    new Promise<never>((_, reject) => child.once("exit", () => reject(new Error(`${name} did not start`)))),
  ]);
  const { url, apiKey, workspaceId } = JSON.parse(line!);
  const headers = { "x-api-key": apiKey, "x-tenant-id": workspaceId };
  return { name, pid: child.pid!, url, headers, child };
}

/** Processor time of a process so far. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const questions = {
  GET: { path: "/version" },
  "POST 1 KB": { path: "/echo", method: "POST" as const, body: "x".repeat(1024) },
};

async function measure({ pid, url, headers }: Subject, question: keyof typeof questions): Promise<Figures> {
  const { path, ...rest } = questions[question];
  const from = processorMs(pid);
  const { latency, requests, non2xx, errors } = await autocannon({
    url: `${url}${path}`,
    connections: Number(values.connections),
    duration: Number(values.seconds),
    headers,
    ...rest,
  });
  const used = processorMs(pid) - from;
  return {
    perSecond: requests.mean,
    p50: latency.p50,
    p99: latency.p99,
    microseconds: (used * 1000) / requests.total,
    failed: non2xx + errors,
  };
}

const tree = mkdtempSync(join(tmpdir(), "gateway-before-"));
git("worktree", "add", "--quiet", "--detach", "--force", tree, values.before);
symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
const subjects: Subject[] = [];
try {
  subjects.push(await start(`before (${values.before})`, tree));
  subjects.push(await start(`after (${git("rev-parse", "--short", "HEAD")})`, root));
  const found = new Map<string, Figures[]>();
  const loads = [loadavg()[0]!];
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    for (const question of Object.keys(questions) as (keyof typeof questions)[]) {
      for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
        const figures = await measure(subject, question);
        // The first round warms up.
        if (round === 0) continue;
        const key = `${question}|${subject.name}`;
        found.set(key, [...(found.get(key) ?? []), figures]);
      }
    }
    loads.push(loadavg()[0]!);
  }
  console.log(
    `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, ${values.connections} connections`,
  );
  console.log(
    `${values.rounds} rounds of ${values.seconds} s; load of the machine ${loads.map((load) => load.toFixed(1)).join(", ")}`,
  );
  const rows = [...found].map(([key, all]) => {
    const of = (name: keyof Figures) => median(all.map((each) => each[name]));
    const [question, version] = key.split("|");
    return {
      question: question!,
      version: version!,
      "requests/s": of("perSecond"),
      "p50 ms": of("p50"),
      "p99 ms": of("p99"),
      "processor µs per request": of("microseconds"),
      failed: all.reduce((sum, { failed }) => sum + failed, 0),
    };
  });
  console.log(formatTable(rows));
} finally {
  for (const { child } of subjects) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.stdin!.end();
    await gone;
  }
  git("worktree", "remove", "--force", tree);
}
