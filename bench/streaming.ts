import { randomUUID } from "node:crypto";
import { HttpClient } from "./http-client.ts";
import { formatTable, median, percentile } from "./load.ts";
import { freePort, memoryOf, ours, peer, type Subject, stop, untilHealthy } from "./subjects.ts";

/**
 * How long does a word take from the graph to a client of the streaming protocol, and what does a listener cost?
 *   node bench/streaming.ts            ours and the peer, then the peer and ours; medians
 *   node bench/streaming.ts --ours     ours alone
 */
type Figures = Record<string, number>;

/** One thread: subscribe, start a run that says the time, collect how late each word arrived. */
async function follow(http: HttpClient, input: { count: number; every: number }): Promise<Followed> {
  const threadId = randomUUID();
  const command = { id: 1, method: "run.start", params: { assistant_id: "ticker", input } };
  await http.call("POST", `/threads/${threadId}/commands`, command);
  const late: number[] = [];
  let words = 0;
  const listensSince = 0;
  let rest = "";
  await http.until(
    "POST",
    `/threads/${threadId}/stream/events`,
    { channels: ["custom", "lifecycle"] },
    (text) => {
      const now = performance.timeOrigin + performance.now();
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      let over = false;
      for (const line of lines) {
        if (!line.startsWith("data:")) continue;
        const { method, params } = JSON.parse(line.slice(5)) as Frame;
        if (method === "custom") {
          words += 1;
          // What was said before the client listened is replayed: received, but not late.
          if (params.data.payload!.at >= listensSince) late.push(now - params.data.payload!.at);
        }
        if (method === "lifecycle" && params.namespace.length === 0 && params.data.event === "completed")
          over = true;
      }
      return over;
    },
  );
  return { late, words };
}

type Followed = { late: number[]; words: number };

type Frame = {
  method: string;
  params: { namespace: string[]; data: { event?: string; payload?: { at: number } } };
};

async function measure(subject: Subject): Promise<Figures> {
  const port = await freePort();
  const child = subject.start(port);
  try {
    const http = new HttpClient(port, 2_000);
    await untilHealthy(http);
    await follow(http, { count: 20, every: 5 });
    const figures: Figures = {};
    for (const streams of [1, 50, 500]) {
      const input = { count: streams === 500 ? 40 : 100, every: streams === 500 ? 100 : 20 };
      const all = await Promise.all(Array.from({ length: streams }, () => follow(http, input)));
      const late = all.flatMap((each) => each.late).toSorted((a, b) => a - b);
      const words = all.reduce((sum, each) => sum + each.words, 0);
      figures[`${streams} streams: lost events`] = streams * input.count - words;
      figures[`${streams} streams: word to client p50 ms`] = percentile(late, 50);
      figures[`${streams} streams: word to client p99 ms`] = percentile(late, 99);
    }
    const burst = performance.now();
    const { words } = await follow(http, { count: 10_000, every: 0 });
    figures["one stream, as fast as it can: events per s"] = words / ((performance.now() - burst) / 1000);
    Object.assign(figures, await measureReplay(http), await measureIdle(http, child.pid!));
    http.close();
    return figures;
  } finally {
    await stop(child);
  }
}

async function measureReplay(http: HttpClient): Promise<Figures> {
  const threadId = randomUUID();
  const input = { count: 10_000, every: 0 };
  const command = { id: 1, method: "run.start", params: { assistant_id: "ticker", input } };
  const done = (text: string) => text.includes('"completed"');
  await http.call("POST", `/threads/${threadId}/commands`, command);
  const body = { channels: ["custom", "lifecycle"], namespaces: [[]], depth: 0 };
  await http.until("POST", `/threads/${threadId}/stream/events`, body, done);
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const start = performance.now();
    await http.until("POST", `/threads/${threadId}/stream/events`, body, done);
    times.push(performance.now() - start);
  }
  return { "replay of 10,000 events ms": median(times) };
}

async function measureIdle(http: HttpClient, pid: number): Promise<Figures> {
  const before = memoryOf(pid);
  const readers = 500;
  const stops: (() => void)[] = [];
  for (let index = 0; index < readers; index += 1) {
    const threadId = randomUUID();
    const hello = {
      id: 1,
      method: "run.start",
      params: { assistant_id: "ticker", input: { count: 1, every: 0 } },
    };
    await http.call("POST", `/threads/${threadId}/commands`, hello);
    stops.push(http.hold("POST", `/threads/${threadId}/stream/events`, { channels: ["custom"] }));
  }
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const after = memoryOf(pid);
  for (const end of stops) end();
  return { "memory per idle listener KB": ((after - before) * 1024) / readers };
}

const subjects = process.argv.includes("--ours") ? [ours, ours] : [ours, peer, peer, ours];
const results = new Map<string, Figures[]>();
for (const subject of subjects) {
  results.set(subject.name, [...(results.get(subject.name) ?? []), await measure(subject)]);
}
const names = [...results.keys()];
const rows = Object.keys(results.get(names[0]!)![0]!).map((question) => ({
  question,
  ...Object.fromEntries(
    names.map((name) => [name, median(results.get(name)!.map((figures) => figures[question]!))]),
  ),
}));
console.log(formatTable(rows));
