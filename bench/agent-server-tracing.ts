import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { HttpClient } from "./http-client.ts";
import { load } from "./load.ts";
import { echoRun, type Figures, formatMedians } from "./runs.ts";
import { freePort, memoryOf, platform, type Subject, stop, untilHealthy } from "./subjects.ts";

const longestIngestionMs = 20_000;

/** What tracing costs where runs, traces and database share a process and two cores. */
export async function compareTracing(seconds: number): Promise<void> {
  const apiKey = randomBytes(16).toString("hex");
  const off = platform({ tracing: false, apiKey });
  const on = platform({ tracing: true, apiKey });
  const results = new Map<string, Figures[]>();
  for (const subject of [off, on, on, off]) {
    const figures = await measure(subject, seconds, apiKey);
    results.set(subject.name, [...(results.get(subject.name) ?? []), figures]);
  }
  console.log(formatMedians(results));
}

async function measure(subject: Subject, seconds: number, apiKey: string): Promise<Figures> {
  const port = await freePort();
  const child = subject.start(port);
  const http = new HttpClient(port, 64);
  try {
    await untilHealthy(http);
    const projects = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/sessions?include_stats=true`, {
        headers: { "x-api-key": apiKey },
      });
      if (!answer.ok) throw new Error(`GET /api/v1/sessions: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { run_count?: number | null }[];
    };
    // The first runs compile the code.
    const warm = await load({ clients: 32, seconds: Math.min(2, seconds), request: () => echoRun(http) });
    let runs = warm.requests;
    const figures: Figures = {};
    for (const clients of [1, 32]) {
      const result = await load({ clients, seconds, request: () => echoRun(http) });
      if (result.errors > 0) throw new Error(`${result.errors} of the runs failed`);
      runs += result.requests;
      figures[`echo runs/wait per s, ${clients}`] = result.perSecond;
      figures[`echo runs/wait p99 ms, ${clients}`] = result.p99Ms;
    }
    const ended = performance.now();
    const { stored, lastGrowth } = await untilStored(projects);
    figures["runs traced, %"] = (stored / runs) * 100;
    figures["last trace stored after s"] = Math.max(0, lastGrowth - ended) / 1000;
    figures["memory at the end MB"] = memoryOf(child.pid!);
    return figures;
  } finally {
    http.close();
    await stop(child);
  }
}

/** Until no more traces arrive. */
async function untilStored(projects: () => Promise<{ run_count?: number | null }[]>) {
  const until = performance.now() + longestIngestionMs;
  let stored = -1;
  let lastGrowth = performance.now();
  for (;;) {
    const now = (await projects()).reduce((sum, { run_count }) => sum + (run_count ?? 0), 0);
    if (now !== stored) lastGrowth = performance.now();
    stored = now;
    if (performance.now() - lastGrowth > 1_500 || performance.now() > until) return { stored, lastGrowth };
    await delay(200);
  }
}
