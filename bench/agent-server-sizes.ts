import { HttpClient } from "./http-client.ts";
import { formatTable, load, median } from "./load.ts";
import { echoRun, type Figures, formatMedians } from "./runs.ts";
import { freePort, memoryOf, ours, stop, untilHealthy } from "./subjects.ts";

/** Does it get slower or larger with what it holds? One server, filled in two steps. */
export async function compareThreads(seconds: number): Promise<void> {
  const sizes = (process.env.BENCH_THREADS ?? "2000,50000").split(",").map(Number);
  const results = new Map<string, Figures[]>();
  await withServer(async (http, pid) => {
    // Warm code is not what is asked for, but it would count for the second size only.
    await load({ clients: 32, seconds: Math.min(2, seconds), request: () => echoRun(http) });
    for (const size of sizes) {
      const filling = performance.now();
      await fill(http, size);
      const filled = (performance.now() - filling) / 1000;
      const figures = { "filled up to here in s": filled, ...(await measureSize(http, seconds)) };
      const memory = { "memory of the server MB": memoryOf(pid) };
      results.set(`${size.toLocaleString("en")} threads`, [{ ...figures, ...memory }]);
    }
  });
  console.log(formatMedians(results));
}

/** Creates threads until there are that many. */
async function fill(http: HttpClient, size: number): Promise<void> {
  let left = size - Number(await http.call("POST", "/threads/count", {}));
  const create = async () => {
    while (left > 0) {
      left -= 1;
      await http.call("POST", "/threads", { metadata: { number: left, group: `g${left % 100}` } });
    }
  };
  await Promise.all(Array.from({ length: 32 }, create));
}

async function measureSize(http: HttpClient, seconds: number): Promise<Figures> {
  const figures: Figures = {};
  const searches: [string, object][] = [
    ["newest 10", { limit: 10 }],
    ["by metadata", { limit: 10, metadata: { group: "g7" } }],
    ["page at 1,000", { limit: 10, offset: 1_000 }],
    ["idle by creation", { limit: 10, status: "idle", sort_by: "created_at" }],
  ];
  for (const [name, body] of searches) {
    const times: number[] = [];
    for (let round = 0; round < 30; round += 1) {
      const start = performance.now();
      await http.call("POST", "/threads/search", body);
      times.push(performance.now() - start);
    }
    figures[`threads/search ${name}, ms`] = median(times);
  }
  const made = await load({
    clients: 32,
    seconds,
    request: async () => void (await http.call("POST", "/threads", {})),
  });
  figures["POST /threads per s, 32"] = made.perSecond;
  const echoed = await load({ clients: 32, seconds, request: () => echoRun(http) });
  figures["echo runs/wait per s, 32"] = echoed.perSecond;
  figures["echo runs/wait p99 ms, 32"] = echoed.p99Ms;
  return figures;
}

/** What every page of a studio asks for first. */
export async function measureSchemas(seconds: number): Promise<void> {
  await withServer(async (http) => {
    const ask = async () => void (await http.call("GET", "/assistants/echo/schemas"));
    const start = performance.now();
    await ask();
    const first = performance.now() - start;
    const one = await load({ clients: 1, seconds, request: ask });
    const many = await load({ clients: 32, seconds, request: ask });
    console.log(
      formatTable([
        { question: "GET schemas, the first time, ms", treadle: first },
        { question: "GET schemas, warm, p50 ms", treadle: one.p50Ms },
        { question: "GET schemas, warm, p99 ms", treadle: one.p99Ms },
        { question: "GET schemas per s, 32", treadle: many.perSecond },
      ]),
    );
  });
}

async function withServer(work: (http: HttpClient, pid: number) => Promise<void>): Promise<void> {
  const port = await freePort();
  const child = ours.start(port);
  const http = new HttpClient(port, 64);
  try {
    await untilHealthy(http);
    await work(http, child.pid!);
  } finally {
    http.close();
    await stop(child);
  }
}
