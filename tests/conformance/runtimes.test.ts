import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DockerRuntime } from "../../src/control-plane/runtimes/docker/docker-runtime.ts";
import { ProcessRuntime } from "../../src/control-plane/runtimes/process-runtime.ts";
import { Walls } from "../../src/control-plane/sandbox/walls.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { ensureBubblewrap } from "../support/components/bubblewrap.ts";
import { type Docker, startDocker } from "../support/components/docker.ts";
import { type RuntimeGround, runtimeSuite } from "../support/runtime-suite.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const logger = createLogger({ level: "silent" });

function processes(walls: Walls): RuntimeGround {
  const command = [process.execPath, join(root, "bin/treadle.js")] as const;
  return {
    create: () => new ProcessRuntime({ command, packageRoot: root, walls, logger }),
    stop: async () => {},
  };
}
const nowhere = "/nonexistent";

const implementations: Record<string, () => Promise<RuntimeGround>> = {
  process: async () => processes(new Walls({ setting: "off", mustPass: [] })),
  "process, as users": async () => {
    if (process.getuid?.() !== 0) throw new Error("Users of their own need root: run these tests as root.");
    return processes(new Walls({ setting: "auto", mustPass: [], path: nowhere }));
  },
  "sandboxed process": async () => {
    await ensureBubblewrap();
    return processes(new Walls({ setting: "required", mustPass: [] }));
  },
  docker: async () => {
    const docker: Docker = await startDocker();
    const baseImage = await docker.buildNodeImage();
    // The image of these tests has Node alone; Treadle and its packages come from this machine.
    const binds = [`${root}:${root}:ro`];
    const command = ["node", join(root, "bin/treadle.js")];
    return {
      create: (databaseUrl) =>
        new DockerRuntime({
          ...{ socketPath: docker.socketPath, baseImage, command, binds, logger },
          ...{ subnets: docker.subnets, allowRoot: false },
          reach: { databaseUrl, platformUrl: () => "http://127.0.0.1:9" },
        }),
      stop: docker.stop,
    };
  },
};

for (const [name, open] of Object.entries(implementations)) runtimeSuite(name, open);
