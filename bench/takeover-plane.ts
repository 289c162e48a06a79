import { fileURLToPath } from "node:url";
import { ProcessRuntime } from "../src/control-plane/runtimes/process-runtime.ts";
import { createLogger } from "../src/platform/logger.ts";
import { machineWalls, packageRoot, startControlPlane } from "../tests/support/control-plane.ts";

/** One of two control planes over the same deployments, whose servers go on without it, as those of a cluster do. */
class OutlivingRuntime extends ProcessRuntime {
  override readonly outlivesPlatform: boolean = true;
}

const options = JSON.parse(process.argv[2]!) as Parameters<typeof startControlPlane>[0];
const small = fileURLToPath(new URL("fixtures/small-server.js", import.meta.url));
const walls = machineWalls("off");
const logger = createLogger({ level: "silent" });
await startControlPlane({
  ...{ ...options, walls, keepDatabases: true },
  runtime: new OutlivingRuntime({ command: [process.execPath, small], packageRoot, walls, logger }),
});
console.log("ready");
