import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DockerRuntime } from "../../src/control-plane/runtimes/docker-runtime.ts";
import { portTaken } from "../../src/control-plane/runtimes/exit.ts";
import { findFreePort } from "../../src/control-plane/runtimes/free-port.ts";
import { ProcessRuntime } from "../../src/control-plane/runtimes/process-runtime.ts";
import { untilReadyFile } from "../../src/control-plane/runtimes/ready-file.ts";
import {
  type Handle,
  type Runtime,
  readyFileName,
  type StartSpec,
} from "../../src/control-plane/runtimes/runtime.ts";
import { Walls } from "../../src/control-plane/sandbox/walls.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { ensureBubblewrap } from "../support/components/bubblewrap.ts";
import { type Docker, startDocker } from "../support/components/docker.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { quickProject } from "../support/quick-project.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const logger = createLogger({ level: "silent" });
const never = new AbortController().signal;

type Ground = { create(databaseUrl: string): Runtime; stop(): Promise<void> };

function processes(walls: Walls): Ground {
  const command = [process.execPath, join(root, "bin/treadle.js")] as const;
  return {
    create: () => new ProcessRuntime({ command, packageRoot: root, walls, logger }),
    stop: async () => {},
  };
}
const nowhere = "/nonexistent";

const implementations: Record<string, () => Promise<Ground>> = {
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

describe.each(Object.keys(implementations))("the %s runtime", (name) => {
  let ground: Ground;
  let runtime: Runtime;
  let folder: TempFolder;
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await createTempFolder("runtime");
    await chmod(folder.path, 0o711);
    await makeProject("project", quickProject("conformance"));
    ground = await implementations[name]!();
    runtime = ground.create(database.url);
  }, 240_000);

  afterAll(async () => {
    await ground?.stop();
    await folder?.remove();
    await database?.drop();
  });

  async function makeProject(project: string, files: ReturnType<typeof quickProject>): Promise<string> {
    const path = join(folder.path, project);
    await mkdir(path);
    for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text!);
    await symlink(join(root, "node_modules"), join(path, "node_modules"));
    return path;
  }

  async function specification(more: Partial<StartSpec> = {}): Promise<StartSpec> {
    const port = await findFreePort();
    const instanceId = randomUUID();
    return {
      ...{
        instanceId,
        deploymentId: randomUUID(),
        workspaceId: randomUUID(),
        home: join(folder.path, `home-${instanceId}`),
        instanceFolder: join(folder.path, `instance-${instanceId}`),
        port,
        folder: join(folder.path, "project"),
        configPath: "langgraph.json",
        image: null,
        pinned: null,
      },
      environment: {
        ...{ PATH: process.env.PATH!, DATABASE_URL: database.url, TREADLE_AGENT_AUTH: "open" },
        ...{
          SUFFIX: "-from-the-environment",
          TREADLE_HOST: "127.0.0.1",
          BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "1",
        },
      },
      logPath: join(folder.path, "logs", `${instanceId}.log`),
      resources: { memoryBytes: null, cpus: null },
      ...more,
    };
  }
  const log = (spec: StartSpec) => readFile(spec.logPath, "utf8").catch(() => "");
  const served = (spec: StartSpec) =>
    waitUntil(
      () =>
        fetch(`http://127.0.0.1:${spec.port}/version`).then(
          (answer) => answer.json(),
          () => undefined,
        ),
      { what: "the server", timeoutMs: 60_000 },
    );

  it("starts a server with its environment, finds it, and stops it in order", {
    timeout: 120_000,
  }, async () => {
    const spec = await specification();
    const handle = await runtime.start(spec);
    const ended = runtime.ended(handle, never);
    expect(await served(spec)).toEqual({ answer: "conformance", suffix: "-from-the-environment" });
    expect(await runtime.isRunning(handle)).toBe(true);
    expect(await runtime.find(spec.instanceId)).not.toBeNull();
    expect(await runtime.find(randomUUID())).toBeNull();
    const said = await untilReadyFile(join(spec.instanceFolder, readyFileName), AbortSignal.timeout(10_000));
    expect(said).toEqual({ graphs: ["echo"], broken: {} });
    // Whatever a project prints is no word about its readiness.
    expect(await log(spec)).not.toContain('{"url"');
    const used = (await runtime.usages([handle])).get(handle);
    expect(used?.memoryBytes).toBeGreaterThan(1_000_000);
    expect(used?.cpuSeconds).toBeGreaterThan(0);
    await runtime.stop(handle);
    expect(await ended).toEqual({ kind: "exit_code", detail: "0" });
    expect(await runtime.isRunning(handle)).toBe(false);
    // Asking again does no harm.
    await runtime.stop(handle);
    await runtime.kill(handle);
  });

  it("keeps a server that another process of the platform started", { timeout: 120_000 }, async () => {
    const spec = await specification();
    const handle = JSON.parse(JSON.stringify(await runtime.start(spec))) as Handle;
    await served(spec);
    const next = ground.create(database.url);
    expect(await next.isRunning(handle)).toBe(true);
    const ended = next.ended(handle, never);
    await next.kill(handle);
    expect((await ended).kind).toMatch(/^(unknown|exit_code)$/);
    expect(await next.isRunning(handle)).toBe(false);
    await expect(fetch(`http://127.0.0.1:${spec.port}/ok`)).rejects.toThrow();
  });

  it("tells how a server ended, and keeps what it said", { timeout: 120_000 }, async () => {
    const files = quickProject("x", { "graph.js": 'console.error("out of yarn"); process.exit(12);' });
    const broken = await makeProject("broken", files);
    const spec = await specification({ folder: broken });
    const handle = await runtime.start(spec);
    expect(await runtime.ended(handle, never)).toEqual({ kind: "exit_code", detail: "12" });
    await waitUntil(async () => (await log(spec)).includes("out of yarn"), {
      what: "its last words",
      timeoutMs: 10_000,
    });
  });

  it("says when the port was taken", { timeout: 120_000 }, async () => {
    const first = await specification();
    const handle = await runtime.start(first);
    const ended = runtime.ended(handle, never);
    await served(first);
    const second = await specification({ port: first.port });
    expect(await runtime.ended(await runtime.start(second), never)).toEqual(portTaken);
    await runtime.kill(handle);
    await ended;
  });

  it("ends a server that takes more memory than it may", { timeout: 120_000 }, async () => {
    const spec = await specification({ resources: { memoryBytes: 400 * 1024 * 1024, cpus: 1.5 } });
    const handle = await runtime.start(spec);
    const ended = runtime.ended(handle, never);
    await served(spec);
    await fetch(`http://127.0.0.1:${spec.port}/grow`, { method: "POST" }).catch(() => undefined);
    expect(await ended).toEqual({ kind: "out_of_memory", detail: "400" });
  });
});
