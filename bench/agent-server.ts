import { compareSubjects } from "./agent-figures.ts";
import { measureInput } from "./agent-server-input.ts";
import { compareThreads, measureSchemas } from "./agent-server-sizes.ts";
import { compareTracing } from "./agent-server-tracing.ts";
import { echo } from "./fixtures/agents/graphs.mjs";
import { load } from "./load.ts";
import { ours, peer } from "./subjects.ts";

/**
 * How fast is the agent server, beside the open in-memory server on the same graphs and the same load?
 *   node bench/agent-server.ts              ours and the peer, then the peer and ours; medians
 *   node bench/agent-server.ts --ours       ours alone
 *   node bench/agent-server.ts --tracing    the whole platform on its own echo graph, tracing off, on, on, off
 *   node bench/agent-server.ts --threads    ours, when it holds 2,000 threads and when it holds 50,000
 *   node bench/agent-server.ts --schemas    ours, the schemas of an assistant that were asked for before
 *   node bench/agent-server.ts --input      ours, what a run costs that is given a megabyte
 * BENCH_SECONDS is the time per point, BENCH_THREADS the two numbers of threads ("2000,50000").
 */
const seconds = Number(process.env.BENCH_SECONDS ?? 4);

if (process.argv.includes("--tracing")) await compareTracing(seconds);
else if (process.argv.includes("--threads")) await compareThreads(seconds);
else if (process.argv.includes("--schemas")) await measureSchemas(seconds);
else if (process.argv.includes("--input")) await measureInput();
else {
  await measureLibrary();
  await compareSubjects(process.argv.includes("--ours") ? [ours, ours] : [ours, peer, peer, ours], seconds);
}

/** How fast the machine is just now: the graph library alone, without a server, a checkpoint or a database. */
async function measureLibrary(): Promise<void> {
  const request = async () => {
    await echo.invoke({ messages: [{ role: "user", content: "hello there" }] });
  };
  const { perSecond } = await load({ clients: 32, seconds, request });
  console.log(
    `The graph library by itself, 32 at once: ${Math.round(perSecond).toLocaleString("en")} runs/s\n`,
  );
}
