import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { insertRuns } from "../../src/agent-server/runs/run-statements.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { startTestAgentServer } from "./agent-server.ts";
import { replaceInDatabase } from "./replaced-database.ts";
import { testGraphs } from "./test-graphs.ts";

/** Serves and executes nothing; is killed in the moment in which the commit of a run is confirmed. Argument: database. */
const [url] = process.argv.slice(2);
const own = openDatabase({ url: url!, poolSize: 4, logger: createLogger({ level: "silent" }) });
const database = replaceInDatabase(own, {
  async query<Row extends object>(...[statement, values]: Parameters<Database["query"]>) {
    const rows = await own.query<Row>(statement, values);
    if (statement === insertRuns) process.kill(process.pid, "SIGKILL");
    return rows;
  },
});
const server = await startTestAgentServer(
  url!,
  { database, graphs: new GraphRegistry(await testGraphs(["few"])) },
  { workers: false },
);
console.log(`ready ${server.url}`);
