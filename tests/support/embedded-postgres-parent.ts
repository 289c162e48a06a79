import { startEmbeddedPostgres } from "../../src/platform/db/embedded/embedded-postgres.ts";
import { createLogger } from "../../src/platform/logger.ts";

/**
 * A process of its own that starts the embedded server and reports it, for tests that end such a
 * process in rude ways. `exit` on stdin makes it leave without stopping the server.
 */
const [dataDir = ""] = process.argv.slice(2);
const server = await startEmbeddedPostgres({
  dataDir,
  logger: createLogger({ level: "silent" }),
  settings: { fsync: "off" },
});
process.stdout.write(`${JSON.stringify({ url: server.url, pid: server.pid() })}\n`);
process.stdin.once("data", () => process.exit(0));
