import { systemClock } from "../clock.ts";
import { openDatabase } from "../db/connection/open-database.ts";
import { createLogger } from "../logger.ts";
import { JobWorker } from "./job-worker.ts";

// A worker process for tests to kill: its jobs report that they began and never end.
const [url, kind] = process.argv.slice(2);
if (url === undefined || kind === undefined)
  throw new Error("usage: job-worker.child.ts <database url> <kind>");

const logger = createLogger({ level: "warn" });
const worker = new JobWorker({
  database: openDatabase({ url, poolSize: 2, logger }),
  clock: systemClock,
  logger,
  handlers: {
    [kind]: ({ job }) => {
      process.stdout.write(`${job.id}\n`);
      return new Promise(() => {});
    },
  },
  concurrency: 5,
  leaseMs: 1_000,
  heartbeatMs: 300,
});
await worker.start();
