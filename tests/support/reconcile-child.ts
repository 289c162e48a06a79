import { setTimeout as delay } from "node:timers/promises";
import { ReconcileFence } from "../../src/control-plane/desired-state/reconcile-fence.ts";
import { ReconcileLease } from "../../src/control-plane/reconciler/reconcile-lease.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";

/**
 * Writes to the table `written` for as long as it has the lease on deployments, as fast as it can: whenever it is
 * stopped, it is in the middle of a write. Arguments: database, its name, the lease in milliseconds.
 */
const [url, name, leaseMs] = process.argv.slice(2);
const logger = createLogger({ level: "silent" });
const database = openDatabase({ url: url!, poolSize: 3, logger });
const fence = new ReconcileFence(database);
let hasLease = false;
const lease = new ReconcileLease({
  ...{ database, logger, fence, leaseMs: Number(leaseMs), renewMs: Number(leaseMs) / 4 },
  async onTaken() {
    hasLease = true;
    console.log("taken");
  },
  async onLost() {
    hasLease = false;
    console.log("lost");
  },
});
process.on("SIGTERM", () => void lease.stop().then(() => process.exit(0)));
await lease.start();
console.log("ready");
for (;;) {
  if (!hasLease) {
    await delay(20);
    continue;
  }
  await fence
    .write(async (tx) => {
      await raw`insert into written (name) values (${name})`.execute(tx);
      await raw`select pg_sleep(0.005)`.execute(tx);
    })
    .catch((error: { code?: string }) => console.log(`refused ${error.code}`));
}
