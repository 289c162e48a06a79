import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DockerRuntime } from "../../src/control-plane/runtimes/docker/docker-runtime.ts";
import { type Handle, oneReplica, type Runtime } from "../../src/control-plane/runtimes/runtime.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { type Docker, startDocker } from "../support/components/docker.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";

const port = 8000;
const server = `require("node:http").createServer((request, response) => response.end("hello"))
  .listen(${port}, "0.0.0.0");`;

let docker: Docker;
let folder: TempFolder;
let runtime: Runtime;
const handles: Handle[] = [];

/** A daemon in a network of its own that routes and sets its firewall, as on a server. */
beforeAll(async () => {
  docker = await startDocker({ walled: true });
  folder = await createTempFolder("docker-walls");
  await docker.buildNodeImage();
  for (const user of ["", "node", "1234:1234"]) {
    const lines = ["FROM treadle-test-node:latest", "COPY server.cjs /server.cjs", user && `USER ${user}`];
    const context = join(folder.path, `user-${user.split(":")[0]}`);
    await mkdir(context);
    await writeFile(join(context, "server.cjs"), server);
    await writeFile(
      join(context, "Dockerfile"),
      [...lines, 'CMD ["node", "/server.cjs"]'].filter(Boolean).join("\n"),
    );
    await docker.run(["build", "--tag", `walls:${user.split(":")[0] || "root"}`, context], {
      timeoutMs: 120_000,
    });
  }
  runtime = create(false);
}, 240_000);

afterAll(async () => {
  for (const handle of handles) await runtime.kill(handle);
  await docker?.stop();
  await folder?.remove();
});

const create = (allowRoot: boolean) =>
  new DockerRuntime({
    ...{ socketPath: docker.socketPath, baseImage: "treadle-test-node:latest", command: ["node"] },
    ...{ subnets: docker.subnets, allowRoot, logger: createLogger({ level: "silent" }) },
  });

async function start(image: string, using = runtime): Promise<Handle> {
  const instanceId = randomUUID();
  const spec = {
    ...{ workspaceId: randomUUID(), home: join(folder.path, "home"), instanceFolder: folder.path },
    ...{ instanceId, deploymentId: randomUUID(), folder: null, configPath: "langgraph.json", image },
    ...{ pinned: null, revisionId: randomUUID(), scale: oneReplica },
    ...{ port: port + handles.length, environment: { SECRET: "told" } },
    logPath: join(folder.path, `${instanceId}.log`),
    resources: { memoryBytes: 300 * 1024 * 1024, cpus: 0.5 },
  };
  const handle = await using.start(spec, new AbortController().signal);
  handles.push(handle);
  return handle;
}

/** What a few lines of Node print inside the container. */
async function inside(handle: Handle, code: string): Promise<unknown> {
  return JSON.parse(await docker.run(["exec", String(handle.container), "node", "-e", code]));
}

async function addressOf(handle: Handle): Promise<string> {
  const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
  return docker.run(["inspect", "--format", format, String(handle.container)]);
}

const dial = (address: string, to: number) => `
const socket = require("node:net").connect({ host: "${address}", port: ${to}, timeout: 1500 });
const say = (what) => { console.log(JSON.stringify(what)); process.exit(); };
socket.on("connect", () => say("connected")).on("timeout", () => say("nothing")).on("error", (error) => say(error.code));`;

/** From the machine's side of that network, where the gateway stands. */
async function dialFromMachine(address: string): Promise<string> {
  const [pid] = (await docker.run(["info", "--format", "{{.DockerRootDir}}"])).split("\n");
  const daemon = (await runCommand("pgrep", ["--full", `dockerd --data-root ${pid}`])).stdout.split("\n")[0]!;
  const args = ["--target", daemon, "--net", process.execPath, "-e", dial(address, port)];
  return JSON.parse((await runCommand("nsenter", args)).stdout) as string;
}

describe("containers of two deployments", () => {
  it("do not reach one another, while the machine reaches both", { timeout: 120_000 }, async () => {
    const [one, two] = [await start("walls:root"), await start("walls:root")];
    const [first, second] = [await addressOf(one), await addressOf(two)];
    for (const address of [first, second]) {
      await waitUntil(async () => (await dialFromMachine(address)) === "connected", {
        ...{ what: `the server at ${address}`, timeoutMs: 30_000 },
      });
    }
    expect(await inside(one, dial(first, port))).toBe("connected");
    expect(await inside(one, dial(second, port))).toBe("nothing");
    expect(await inside(two, dial(first, port))).toBe("nothing");
    expect(await docker.run(["network", "ls", "--quiet", "--filter", "name=treadle-"])).toMatch(/^\w+\n\w+$/);
  });
});

describe("a container", () => {
  const facts = `
const { readFileSync, writeFileSync, existsSync } = require("node:fs");
const status = Object.fromEntries(readFileSync("/proc/1/status", "utf8").split("\\n").map((line) => line.split(/:\\s*/)));
const write = (path) => { try { writeFileSync(path, "x"); return "written"; } catch (error) { return error.code; } };
console.log(JSON.stringify({
  uid: status.Uid.split("\\t")[0], capabilities: status.CapBnd + status.CapEff + status.CapPrm, privileges: status.NoNewPrivs,
  seccomp: status.Seccomp, root: write("/x"), tmp: write("/tmp/x"), home: write(process.env.HOME + "/x"),
  socket: existsSync("/var/run/docker.sock"),
}));`;
  const walled = {
    ...{ capabilities: "0".repeat(48), privileges: "1", seccomp: "2", socket: false },
    ...{ root: "EROFS", tmp: "written", home: "written" },
  };

  it("has no rights, no root, a system it cannot change, and room to write in memory", {
    timeout: 120_000,
  }, async () => {
    const handle = await start("walls:root");
    const found = (await inside(handle, facts)) as { uid: string };
    expect(found).toEqual({ ...walled, uid: expect.stringMatching(/^\d{6,7}$/) });
    const [limits] = JSON.parse(await docker.run(["inspect", String(handle.container)])) as [
      { HostConfig: Record<string, unknown> },
    ];
    expect(limits.HostConfig).toMatchObject({
      ...{ PidsLimit: 512, Memory: 300 * 1024 * 1024, MemorySwap: 300 * 1024 * 1024, NanoCpus: 5e8 },
      ...{ IpcMode: "private", Privileged: false, Binds: [], ReadonlyRootfs: true },
      LogConfig: { Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } },
    });
  });

  it("keeps a user the image gives by number, and no user it gives by name", {
    timeout: 120_000,
  }, async () => {
    const uidOf = async (image: string, using?: Runtime) =>
      ((await inside(await start(image, using), facts)) as { uid: string }).uid;
    expect(await uidOf("walls:1234")).toBe("1234");
    expect(Number(await uidOf("walls:node"))).toBeGreaterThanOrEqual(300_000);
    const lenient = create(true);
    expect(await uidOf("walls:node", lenient)).toBe("1000");
    expect(await uidOf("walls:root", lenient)).toBe("0");
  });
});
