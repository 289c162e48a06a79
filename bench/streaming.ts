import { type ChildProcess, execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { HttpClient } from "./http-client.ts";
import { formatTable, median } from "./load.ts";
import type { Heard, ListenJob } from "./streaming-client.ts";
import { freePort, memoryOf, ours, peer, type Subject, stop, untilHealthy } from "./subjects.ts";

/**
 * How long does a word take from the graph to a client of the streaming protocol, and what does a listener cost?
 *   node bench/streaming.ts            ours and the peer, then the peer and ours; medians
 *   node bench/streaming.ts --ours     ours alone
 * Listeners live in a process of their own and measure how late they were themselves. Both servers may run 500 runs at
 * once, and every part has the same time limit; what is over it is reported as that.
 */
const partLimitMs = 15_000;
const runsAtOnce = "500";

type Figures = Record<string, number>;
type Place = { http: HttpClient; port: number; pid: number };
/** Names all its figures, so that a part that does not finish still has its rows. */
type Part = { names: string[]; measure(place: Place, signal: AbortSignal): Promise<Figures> };

const client = fileURLToPath(new URL("streaming-client.ts", import.meta.url));

function listen(job: ListenJob, signal: AbortSignal): Promise<Heard> {
  const { promise, resolve, reject } = Promise.withResolvers<Heard>();
  execFile(process.execPath, [client, JSON.stringify(job)], { signal }, (error, output) => {
    if (error) reject(error);
    else resolve(JSON.parse(output) as Heard);
  });
  return promise;
}

function words(streams: number, begin: "together" | "over a second"): Part {
  const title = streams === 1 ? "1 stream" : `${streams} streams beginning ${begin}`;
  const name = (what: string) => `${title}: ${what}`;
  const names = ["word to client p50 ms", "p99 ms", "events lost", "the listener's own delay p99 ms"].map(
    name,
  );
  const pace = streams === 500 ? { count: 40, every: 100 } : { count: 100, every: 20 };
  const spreadMs = begin === "together" ? 0 : 1_000;
  return {
    names,
    async measure({ port }, signal) {
      const heard = await listen({ port, streams, ...pace, spreadMs }, signal);
      const figures = [heard.p50Ms, heard.p99Ms, heard.lost, heard.ownLagP99Ms];
      return Object.fromEntries(names.map((each, index) => [each, figures[index]!]));
    },
  };
}

const many = { assistant_id: "ticker", input: { count: 10_000, every: 0 } };
const isOver = (text: string) => text.includes('"completed"');
const filter = { channels: ["custom", "lifecycle"], namespaces: [[]], depth: 0 };

const flood: Part = {
  names: ["one stream, as fast as it can: events per s", "replay of 10,000 events ms"],
  async measure({ http }) {
    const threadId = randomUUID();
    await http.call("POST", "/threads", { thread_id: threadId });
    const listened = http.until("POST", `/threads/${threadId}/stream/events`, filter, isOver);
    const began = performance.now();
    await http.call("POST", `/threads/${threadId}/commands`, { id: 1, method: "run.start", params: many });
    await listened;
    const perSecond = 10_000 / ((performance.now() - began) / 1000);
    const times: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const start = performance.now();
      await http.until("POST", `/threads/${threadId}/stream/events`, filter, isOver);
      times.push(performance.now() - start);
    }
    return { [flood.names[0]!]: perSecond, [flood.names[1]!]: median(times) };
  },
};

const idle: Part = {
  names: ["memory per idle listener KB"],
  async measure({ http, pid }) {
    const threadIds = Array.from({ length: 500 }, () => randomUUID());
    for (const threadId of threadIds) await http.call("POST", "/threads", { thread_id: threadId });
    const before = memoryOf(pid);
    const ends = threadIds.map((threadId) =>
      http.hold("POST", `/threads/${threadId}/stream/events`, { channels: ["custom"] }),
    );
    await delay(3_000);
    const after = memoryOf(pid);
    for (const end of ends) end();
    return { [idle.names[0]!]: ((after - before) * 1024) / threadIds.length };
  },
};

const parts: Part[] = [
  words(1, "together"),
  words(50, "over a second"),
  words(50, "together"),
  words(500, "over a second"),
  words(500, "together"),
  flood,
  idle,
];

class Running {
  readonly #subject: Subject;
  #child: ChildProcess | undefined;
  #place: Place | undefined;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  /** Undefined when it did not finish; the subject is then started anew, so that the next part is not burdened. */
  async measure(part: Part): Promise<Figures | undefined> {
    const place = await this.#ready();
    const limit = new AbortController();
    const timer = delay(partLimitMs, undefined, { ref: false });
    try {
      const figures = part.measure(place, limit.signal);
      figures.catch(() => undefined);
      const done = await Promise.race([figures, timer]);
      if (done === undefined) throw new Error(`not finished in ${partLimitMs / 1000} s`);
      return done;
    } catch (error) {
      limit.abort();
      console.error(`${this.#subject.name}, ${part.names[0]}: ${(error as Error).message.slice(0, 300)}`);
      await this.stop();
      return undefined;
    }
  }

  async stop(): Promise<void> {
    this.#place?.http.close();
    if (this.#child) await stop(this.#child);
    this.#child = undefined;
    this.#place = undefined;
  }

  async #ready(): Promise<Place> {
    if (this.#place) return this.#place;
    const port = await freePort();
    process.env.N_JOBS_PER_WORKER = runsAtOnce;
    this.#child = this.#subject.start(port);
    // Only for this start: other questions have the default.
    delete process.env.N_JOBS_PER_WORKER;
    const http = new HttpClient(port, 2_000);
    await untilHealthy(http);
    this.#place = { http, port, pid: this.#child.pid! };
    // The first thousands of words of a process are slow for reasons of their own: code is read and compiled.
    const warm = { port, streams: 50, count: 100, every: 20, spreadMs: 1_000 };
    for (let round = 0; round < 2; round += 1) {
      await listen(warm, AbortSignal.timeout(partLimitMs)).catch(() => undefined);
    }
    return this.#place;
  }
}

/** One round of a subject; a figure is undefined when its part did not finish. */
async function measureParts(
  subject: Subject,
  asked: readonly Part[],
): Promise<Record<string, number | undefined>> {
  const running = new Running(subject);
  const figures: Record<string, number | undefined> = {};
  for (const part of asked) {
    const measured = await running.measure(part);
    for (const name of part.names) figures[name] = measured?.[name];
  }
  await running.stop();
  return figures;
}

/** How long a word takes to a client, alone and among 50. */
export function measureWords(subject: Subject): Promise<Record<string, number | undefined>> {
  return measureParts(subject, [words(1, "together"), words(50, "over a second")]);
}

/** The median of the rounds that finished. */
function cell(figures: readonly (number | undefined)[]): number | string {
  const known = figures.filter((figure) => figure !== undefined);
  return known.length > 0 ? median(known) : `not finished in ${partLimitMs / 1000} s`;
}

async function main(): Promise<void> {
  const subjects = process.argv.includes("--ours") ? [ours, ours] : [ours, peer, peer, ours];
  const results = new Map<string, Record<string, number | undefined>[]>();
  for (const subject of subjects) {
    const figures = await measureParts(subject, parts);
    results.set(subject.name, [...(results.get(subject.name) ?? []), figures]);
  }
  const rows = parts.flatMap((part) =>
    part.names.map((name) => ({
      question: name,
      ...Object.fromEntries(
        [...results].map(([subject, rounds]) => [subject, cell(rounds.map((each) => each[name]))]),
      ),
    })),
  );
  console.log(formatTable(rows));
  console.log(`Load of the machine at the end, over one minute: ${loadavg()[0]!.toFixed(1)}`);
}

if (import.meta.main) await main();
