import { randomUUID } from "node:crypto";
import { HttpClient } from "./http-client.ts";
import { load, median, percentile } from "./load.ts";
import { echoRun, type Figures, formatMedians } from "./runs.ts";
import { besideSyncs } from "./slowest-sync.ts";
import { freePort, memoryOf, type Subject, stop, untilHealthy } from "./subjects.ts";

/** A server that fails quickly would else have fine figures. */
const failedRequests = "requests that failed";

/** Measures each in turn; a subject that comes twice has the median of both. Its project needs `echo` and `tokens`. */
export async function compareSubjects(subjects: readonly Subject[], seconds: number): Promise<void> {
  const results = new Map<string, Figures[]>();
  for (const [index, subject] of subjects.entries()) {
    console.error(`${index + 1} of ${subjects.length}: ${subject.name}`);
    const figures = await measureSubject(subject, seconds);
    results.set(subject.name, [...(results.get(subject.name) ?? []), figures]);
  }
  console.log(formatMedians(results));
}

/** One that fails midway keeps the figures it has: those of the others took minutes to measure. */
export async function measureSubject(subject: Subject, seconds: number): Promise<Figures> {
  const port = await freePort();
  const began = performance.now();
  const child = subject.start(port);
  const figures: Figures = {};
  try {
    const http = new HttpClient(port, 64);
    await untilHealthy(http, subject.health);
    figures["start to /ok ms"] = performance.now() - began;
    figures["memory at start MB"] = memoryOf(child.pid!);
    figures[failedRequests] = 0;
    for (const clients of [1, 8, 32]) {
      const result = await load({
        clients,
        seconds,
        request: async () => void (await http.call("POST", "/threads", {})),
      });
      figures[`POST /threads per s, ${clients}`] = result.perSecond;
      figures[failedRequests] += result.errors;
    }
    figures["slowest sync of the disk meanwhile ms"] = await besideSyncs(async () => {
      await measureEchoes(http, seconds, figures);
      Object.assign(figures, await measureStreams(http));
    });
    Object.assign(figures, await measureState(http));
    figures["memory at the end MB"] = memoryOf(child.pid!);
    http.close();
  } catch (error) {
    console.log(`${subject.name} FAILED, its figures are not all there: ${String(error)}`);
  } finally {
    await stop(child);
  }
  return figures;
}

async function measureEchoes(http: HttpClient, seconds: number, figures: Figures): Promise<void> {
  for (const clients of [1, 8, 32]) {
    const result = await load({ clients, seconds, request: () => echoRun(http) });
    figures[`echo runs/wait per s, ${clients}`] = result.perSecond;
    figures[failedRequests] = (figures[failedRequests] ?? 0) + result.errors;
    if (clients === 32) figures["echo runs/wait p99 ms, 32"] = result.p99Ms;
  }
}

async function measureStreams(http: HttpClient): Promise<Figures> {
  const firsts: number[] = [];
  const ends: number[] = [];
  const totals: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const body = (content: string, mode: string) => ({
      assistant_id: "tokens",
      if_not_exists: "create",
      stream_mode: [mode],
      input: { messages: [{ role: "user", content }] },
    });
    const start = performance.now();
    let first = 0;
    await http.stream("POST", `/threads/${randomUUID()}/runs/stream`, body("10", "messages-tuple"), () => {
      first ||= performance.now() - start;
    });
    firsts.push(first);
    if (round % 4 !== 0) continue;
    const longStart = performance.now();
    let last = 0;
    await http.stream("POST", `/threads/${randomUUID()}/runs/stream`, body("1000", "messages-tuple"), () => {
      last = performance.now();
    });
    totals.push(last - longStart);
    ends.push(performance.now() - last);
  }
  firsts.sort((a, b) => a - b);
  return {
    "first event p50 ms": percentile(firsts, 50),
    "first event p99 ms": percentile(firsts, 99),
    "1000 tokens ms": median(totals),
    "last event to end ms": median(ends),
  };
}

/** A thread of about 100 checkpoints and 200 messages. */
async function measureState(http: HttpClient): Promise<Figures> {
  const threadId = randomUUID();
  for (let run = 0; run < 34; run += 1) {
    const messages = Array.from({ length: 5 }, (_, index) => ({
      role: "user",
      content: `message ${run}.${index} ${"lorem ipsum dolor sit amet ".repeat(14)}`,
    }));
    await http.call("POST", `/threads/${threadId}/runs/wait`, {
      assistant_id: "echo",
      if_not_exists: "create",
      input: { messages },
    });
  }
  const time = async (path: string) => {
    const times: number[] = [];
    for (let round = 0; round < 15; round += 1) {
      const start = performance.now();
      await http.call("GET", path);
      times.push(performance.now() - start);
    }
    return median(times);
  };
  return {
    "GET state ms": await time(`/threads/${threadId}/state`),
    "history of 100 ms": await time(`/threads/${threadId}/history?limit=100`),
  };
}
