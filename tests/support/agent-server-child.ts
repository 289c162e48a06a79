import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer } from "./agent-server.ts";
import { startTestTraces } from "./agent-traces.ts";
import { testGraphs } from "./test-graphs.ts";

/**
 * An agent server in a process of its own, for tests that kill it: prints its URL and serves until it ends.
 * Arguments: database, lease in milliseconds, the one graph it serves (all of the usual ones), grace in milliseconds,
 * `traced` to write traces to the same database.
 */
const [databaseUrl, leaseMs, graph, graceMs = "10000", traced] = process.argv.slice(2);
const traces = traced === "traced" ? await startTestTraces(databaseUrl!) : undefined;
const server = await startTestAgentServer(databaseUrl!, {
  runLeaseMs: Number(leaseMs),
  ...(traces ? { trace: traces.trace } : {}),
  ...(graph ? { graphs: new GraphRegistry(await testGraphs([graph])) } : {}),
});
console.log(`ready ${server.url}`);
process.on("SIGTERM", () => {
  void server
    .stop(Number(graceMs))
    .then(() => traces?.stop())
    .then(() => process.exit(0));
});
