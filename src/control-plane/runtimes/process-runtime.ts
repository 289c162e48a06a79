import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { limitProcess, releaseLimits } from "./cgroup.ts";
import { portTaken } from "./instance.ts";
import {
  groupUsages,
  identify,
  isAlive,
  killGroup,
  type ProcessIdentity,
  signalGroup,
} from "./process-table.ts";
import type { Handle, Runtime, StartSpec } from "./runtime.ts";
import { chooseServerUser, type ServerUser } from "./server-user.ts";

export type ProcessRuntimeOptions = {
  /** The command that serves one project, for example `node treadle.js agent`. */
  command: readonly [string, ...string[]];
  logger: Logger;
};

/** Marks our servers in the process table, for the moment between their start and the note about it. */
export const instanceMarker = "TREADLE_INSTANCE_ID";
const adoptedPollMs = 500;

/** Each server is a process group of its own on this machine, bound to loopback, writing to a file of its own. */
export function createProcessRuntime({ command, logger }: ProcessRuntimeOptions): Runtime {
  /** Ends of the children this process started itself, which need no polling. */
  const children = new Map<string, Promise<string>>();
  const keyOf = ({ pid, started }: ProcessIdentity) => `${pid}:${started}`;

  return {
    name: "process",
    runs: { built: true, images: false },

    async start(spec) {
      if (spec.folder === null) throw imagesNeedDocker();
      await mkdir(dirname(spec.logPath), { recursive: true, mode: 0o700 });
      const log = await open(spec.logPath, "a", 0o600);
      try {
        return await begin(spec, spec.folder, log.fd);
      } finally {
        await log.close();
      }
    },
    isRunning: (handle) => isAlive(identityOf(handle)),
    async ended(handle, signal) {
      const identity = identityOf(handle);
      const child = children.get(keyOf(identity));
      if (child) return child;
      while (await isAlive(identity)) await delay(adoptedPollMs, undefined, { signal });
      return "ended while the platform was away";
    },
    async stop(handle) {
      const identity = identityOf(handle);
      if (await isAlive(identity)) signalGroup(identity.pid, "SIGTERM");
    },
    async kill(handle) {
      await killGroup(identityOf(handle));
    },
    async usages(handles) {
      const groups = await groupUsages();
      const known = handles.flatMap((handle) => {
        const usage = groups.get(identityOf(handle).pid);
        return usage ? [[handle, usage] as const] : [];
      });
      return new Map(known);
    },
    find: findMarked,
  };

  async function userFor(spec: StartSpec, config: string): Promise<ServerUser | object> {
    const { HOME: home } = spec.environment;
    const scripts = command.filter((word) => word.startsWith("/"));
    if (home === undefined) return {};
    const chosen = await chooseServerUser(spec.deploymentId, home, [...scripts, config]);
    if ("uid" in chosen) return chosen;
    logger.debug(
      { instance: spec.instanceId, reason: chosen.reason },
      "a deployed server has no user of its own",
    );
    return {};
  }

  async function begin(spec: StartSpec, folder: string, logFile: number): Promise<Handle> {
    const [program, ...args] = command;
    const user = await userFor(spec, join(folder, spec.configPath));
    const child = spawn(
      program,
      [...args, "agent", "--json", "--config", join(folder, spec.configPath), "--port", String(spec.port)],
      {
        cwd: dirname(join(folder, spec.configPath)),
        env: {
          ...spec.environment,
          // The usual place belongs to root.
          ...("uid" in user && { NODE_COMPILE_CACHE: join(spec.environment.HOME!, ".node-compile-cache") }),
          [instanceMarker]: spec.instanceId,
        },
        ...user,
        // A file and not a pipe: the server must not fall silent, or fall over, when the platform goes.
        stdio: ["ignore", logFile, logFile],
        detached: true,
      },
    );
    const end = once(child, "exit").then(([code, signal]) => endingOf(code, signal));
    end.catch(() => undefined);
    try {
      await once(child, "spawn");
    } catch (error) {
      throw new AppError({
        code: "runtime.not_started",
        kind: "unavailable",
        retryable: false,
        message: `The agent server could not be started: ${errorMessage(error)}.`,
        cause: error,
      });
    }
    const pid = child.pid!;
    child.unref();
    await limitProcess(spec.instanceId, pid, spec.resources, logger);
    const identity = await identify(pid);
    // Gone already: there is nobody to confuse it with, and its end is reported the usual way.
    const handle = identity ?? { pid, started: "gone" };
    children.set(
      keyOf(handle),
      end.finally(() => {
        children.delete(keyOf(handle));
        // What it left behind in its group goes with it.
        signalGroup(pid, "SIGKILL");
        void releaseLimits(spec.instanceId);
      }),
    );
    return handle;
  }
}

/** Exit code 4 of `treadle agent` means that it could not have its port. */
function endingOf(code: number | null, signal: string | null): string {
  if (code === 4) return portTaken;
  return signal ? `signal ${signal}` : `exit code ${code}`;
}

function identityOf(handle: Handle): ProcessIdentity {
  return { pid: Number(handle.pid), started: String(handle.started) };
}

async function findMarked(instanceId: string): Promise<Handle | null> {
  const marker = `${instanceMarker}=${instanceId}`;
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    // Processes of others cannot be read, and any may end meanwhile.
    const text = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
    if (text.split("\0").includes(marker)) {
      const identity = await identify(Number(name));
      if (identity) return identity;
    }
  }
  return null;
}

function imagesNeedDocker(): AppError {
  return new AppError({
    code: "runtime.images_unsupported",
    kind: "invalid",
    message:
      "Images need the docker runtime. Start Treadle with TREADLE_RUNTIME=docker, or deploy from a git repository.",
  });
}
