import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { HttpClient } from "./http-client.ts";
import { formatTable, load, median } from "./load.ts";
import { costOf } from "./process-cost.ts";
import { echoRun } from "./runs.ts";
import { familyOf, freePort, type Subject, stop, untilHealthy } from "./subjects.ts";

const kills = 3;
/** By then a process is in reserve. */
const spareMs = 8_000;

/** Processor time of a run by process, and how long a run stands still when its process is killed. */
export async function measureProcessCost(subject: Subject, seconds: number): Promise<string> {
  const port = await freePort();
  const child = subject.start(port);
  try {
    const http = new HttpClient(port, 64);
    await untilHealthy(http);
    // Until the process in reserve has been made, which is not what a run costs.
    await load({ clients: 32, seconds: Math.max(seconds, spareMs / 1_000), request: () => echoRun(http) });
    const before = costs(child.pid!);
    const { requests } = await load({ clients: 32, seconds, request: () => echoRun(http) });
    const after = costs(child.pid!);
    const rows = Object.keys(after).map((name) => ({
      question: `processor ms per echo run, ${name}`,
      [subject.name]: (after[name]! - (before[name] ?? 0)) / requests,
    }));
    const times: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) times.push(await measureKill(http, child.pid!));
    http.close();
    return formatTable([...rows, { question: "kill -9 to going on, ms", [subject.name]: median(times) }]);
  } finally {
    await stop(child);
  }
}

function costs(pid: number): Record<string, number> {
  const byName = new Map<string, number[]>();
  for (const { id, name } of familyOf(pid)) byName.set(name, [...(byName.get(name) ?? []), id]);
  return Object.fromEntries([...byName].map(([name, ids]) => [name, costOf(ids).cpuMs]));
}

/** A run of many steps; its process is killed while one of them waits. */
async function measureKill(http: HttpClient, pid: number): Promise<number> {
  const body = {
    assistant_id: "steps",
    if_not_exists: "create",
    stream_mode: ["updates"],
    on_disconnect: "cancel",
    input: { seconds: 0.05, steps: 2_000 },
    config: { recursion_limit: 3_000 },
  };
  const seen = new Set<number>();
  let killedAt: number | undefined;
  let wentOnAt = 0;
  const wentOn = http.until("POST", `/threads/${randomUUID()}/runs/stream`, body, (text) => {
    const [, found] = /"pid":(\d+)/.exec(text) ?? [];
    const isNew = found !== undefined && !seen.has(Number(found));
    if (isNew) seen.add(Number(found));
    if (isNew && killedAt !== undefined) wentOnAt = performance.now();
    return wentOnAt > 0;
  });
  await delay(spareMs);
  const [serving] = seen;
  if (!familyOf(pid).some(({ id }) => id === serving)) throw new Error("The run is in no process of ours.");
  killedAt = performance.now();
  process.kill(serving!, "SIGKILL");
  await wentOn;
  return wentOnAt - killedAt;
}
