import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { portTaken, stoppedByUs } from "../../src/control-plane/runtimes/exit.ts";
import { findFreePort } from "../../src/control-plane/runtimes/free-port.ts";
import { untilReadyFile } from "../../src/control-plane/runtimes/ready-file.ts";
import {
  type Handle,
  oneReplica,
  type Runtime,
  readyFileName,
  type StartSpec,
} from "../../src/control-plane/runtimes/runtime.ts";
import { createTempFolder, type TempFolder } from "./components/temp-folder.ts";
import { waitUntil } from "./components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { quickProject } from "./quick-project.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const secret = "only the gateway knows it";
const never = new AbortController().signal;

export type RuntimeGround = {
  /** As a process of the platform has it; another one makes another. */
  create(databaseUrl: string): Runtime;
  stop(): Promise<void>;
  /** The rest is of runtimes whose servers are not on this machine. */
  remote?: {
    /** The project's packages, where its server runs. */
    modules: string;
    databaseUrl(url: string): string;
    /** Lets the server of this start fetch its project. */
    offer(spec: StartSpec): void;
  };
};

/** What holds for every implementation of the port. */
export function runtimeSuite(name: string, open: () => Promise<RuntimeGround>): void {
  describe(`the ${name} runtime`, () => {
    let ground: RuntimeGround;
    let runtime: Runtime;
    let folder: TempFolder;
    let database: TestDatabase;

    beforeAll(async () => {
      database = await createTestDatabase();
      folder = await createTempFolder("runtime");
      await chmod(folder.path, 0o711);
      ground = await open();
      await makeProject("project", quickProject("conformance"));
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
      await symlink(ground.remote?.modules ?? join(root, "node_modules"), join(path, "node_modules"));
      return path;
    }

    async function specification(more: Partial<StartSpec> = {}): Promise<StartSpec> {
      const port = await findFreePort();
      const instanceId = randomUUID();
      const spec: StartSpec = {
        ...{
          instanceId,
          deploymentId: randomUUID(),
          revisionId: randomUUID(),
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
          ...{
            PATH: process.env.PATH!,
            DATABASE_URL: ground.remote?.databaseUrl(database.url) ?? database.url,
            TREADLE_AGENT_AUTH: "open",
          },
          ...{
            SUFFIX: "-from-the-environment",
            TREADLE_HOST: "127.0.0.1",
            TREADLE_INSTANCE_SECRET: secret,
            BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "1",
          },
        },
        logPath: join(folder.path, "logs", `${instanceId}.log`),
        resources: { memoryBytes: null, cpus: null },
        scale: oneReplica,
        ...more,
      };
      ground.remote?.offer(spec);
      return spec;
    }
    const log = (spec: StartSpec) => readFile(spec.logPath, "utf8").catch(() => "");
    const ask = (url: string, method = "GET") =>
      fetch(url, {
        ...{ method, headers: { "x-treadle-instance-secret": secret }, signal: AbortSignal.timeout(10_000) },
      });

    /** Where it takes requests, once it does. */
    async function addressOf(spec: StartSpec, handle: Handle): Promise<string> {
      if (runtime.host !== null) return `http://${runtime.host}:${spec.port}`;
      for await (const { endpoints, ready } of runtime.observe!(handle, AbortSignal.timeout(90_000)))
        if (ready) return `http://${endpoints[0]!.host}:${endpoints[0]!.port}`;
      throw new Error(`It was never ready. What it said:\n${await log(spec)}`);
    }

    async function served(spec: StartSpec, handle: Handle): Promise<{ url: string; version: unknown }> {
      const url = await addressOf(spec, handle);
      const version = await waitUntil(
        () =>
          ask(`${url}/version`).then(
            (answer) => answer.json(),
            () => undefined,
          ),
        { what: "the server", timeoutMs: 100_000 },
      );
      return { url, version };
    }

    it("starts a server with its environment, finds it, and stops it in order", {
      timeout: 120_000,
    }, async () => {
      const spec = await specification();
      const handle = await runtime.start(spec, never);
      const ended = runtime.ended(handle, never);
      const { version } = await served(spec, handle);
      expect(version).toEqual({ answer: "conformance", suffix: "-from-the-environment" });
      expect(await runtime.isRunning(handle)).toBe(true);
      expect(await runtime.find(spec.instanceId)).not.toBeNull();
      expect(await runtime.find(randomUUID())).toBeNull();
      if (!ground.remote) {
        const file = join(spec.instanceFolder, readyFileName);
        const said = await untilReadyFile(file, AbortSignal.timeout(10_000));
        expect(said).toEqual({ graphs: ["echo"], broken: {} });
      }
      // Whatever a project prints is no word about its readiness.
      expect(await log(spec)).not.toContain('{"url"');
      if (!ground.remote) {
        const used = (await runtime.usages([handle])).get(handle);
        expect(used?.memoryBytes).toBeGreaterThan(1_000_000);
        expect(used?.cpuSeconds).toBeGreaterThan(0);
      }
      await runtime.stop(handle);
      // A pod may be gone before anybody sees how it ended.
      expect([{ kind: "exit_code", detail: "0" }, ...(ground.remote ? [stoppedByUs] : [])]).toContainEqual(
        await ended,
      );
      expect(await runtime.isRunning(handle)).toBe(false);
      // Asking again does no harm.
      await runtime.stop(handle);
      await runtime.kill(handle);
    });

    it("keeps a server that another process of the platform started", { timeout: 120_000 }, async () => {
      const spec = await specification();
      const handle = JSON.parse(JSON.stringify(await runtime.start(spec, never))) as Handle;
      const { url } = await served(spec, handle);
      const next = ground.create(database.url);
      expect(await next.isRunning(handle)).toBe(true);
      const ended = next.ended(handle, never);
      await next.kill(handle);
      expect((await ended).kind).toMatch(
        ground.remote ? /^(stopped|removed|exit_code)$/ : /^(unknown|exit_code)$/,
      );
      expect(await next.isRunning(handle)).toBe(false);
      // A cluster forgets a pod before its node has ended it.
      await expect
        .poll(() =>
          ask(`${url}/ok`).then(
            () => "answers",
            () => "gone",
          ),
        )
        .toBe("gone");
    });

    it("tells how a server ended, and keeps what it said", { timeout: 120_000 }, async () => {
      const files = quickProject("x", { "graph.js": 'console.error("out of yarn"); process.exit(12);' });
      const broken = await makeProject("broken", files);
      const spec = await specification({ folder: broken });
      const handle = await runtime.start(spec, never);
      expect(await runtime.ended(handle, never)).toEqual({ kind: "exit_code", detail: "12" });
      await waitUntil(async () => (await log(spec)).includes("out of yarn"), {
        what: "its last words",
        timeoutMs: 10_000,
      });
    });

    it("says when the port was taken", { timeout: 120_000 }, async (test) => {
      // Each pod has every port.
      if (ground.remote) test.skip();
      const first = await specification();
      const handle = await runtime.start(first, never);
      const ended = runtime.ended(handle, never);
      await served(first, handle);
      const second = await specification({ port: first.port });
      expect(await runtime.ended(await runtime.start(second, never), never)).toEqual(portTaken);
      await runtime.kill(handle);
      await ended;
    });

    it("ends a server that takes more memory than it may", { timeout: 120_000 }, async () => {
      const spec = await specification({ resources: { memoryBytes: 400 * 1024 * 1024, cpus: 1.5 } });
      const handle = await runtime.start(spec, never);
      const ended = runtime.ended(handle, never);
      const { url } = await served(spec, handle);
      await ask(`${url}/grow`, "POST").catch(() => undefined);
      expect(await ended).toEqual({ kind: "out_of_memory", detail: "400" });
    });
  });
}
