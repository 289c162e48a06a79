import { once } from "node:events";
import { write } from "node:fs";
import { chmod, chown, mkdir, open, readdir, readFile, readlink } from "node:fs/promises";
import { constants } from "node:os";
import { basename, dirname, posix } from "node:path";
import { promisify } from "node:util";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Mount } from "../sandbox/bubblewrap.ts";
import { makeFolder } from "../sandbox/data-folders.ts";
import { type Launch, startEnclosed } from "../sandbox/enclosed-process.ts";
import type { Isolation } from "../sandbox/isolation.ts";
import { packageMounts } from "../sandbox/machine-mounts.ts";
import {
  identify,
  isAlive,
  killGroup,
  leadsGroup,
  type ProcessIdentity,
  signalGroup,
  signalInside,
  treeUsages,
} from "../sandbox/process-table.ts";
import { deploymentUser } from "../sandbox/system-user.ts";
import type { Enclosing } from "../sandbox/walls.ts";
import {
  createProcessLimits,
  type LimitProcess,
  memoryCounters,
  ranOutOfMemory,
  releaseLimits,
} from "./cgroup.ts";
import { compileCacheName, seedCompileCache } from "./compile-cache.ts";
import {
  type Exit,
  endedBySignal,
  exitedWith,
  outOfMemory,
  portTaken,
  portTakenCode,
  unknownEnd,
} from "./exit.ts";
import { ExitWatch } from "./exit-watch.ts";
import { type Handle, type Runtime, readyFileName, type StartSpec, type Usage } from "./runtime.ts";

export type ProcessRuntimeOptions = {
  /** The command that serves one project, for example `node treadle.js agent`. */
  command: readonly [string, ...string[]];
  /** The package the command belongs to, which has to be seen behind the walls. */
  packageRoot: string;
  walls: Enclosing;
  logger: Logger;
  /** An address of this machine under which gateways reach the servers; default: loopback. */
  host?: string | undefined;
  /** What of the machine a built project needs beside its programs: a Python that lies elsewhere. */
  projectMounts?(folder: string, configPath: string): Promise<Mount[]>;
  /** What was compiled before, for homes that are made; see `seedCompileCache`. */
  compileCache?: string | undefined;
};

/** Marks our servers in the process table, for the moment between their start and the note about it. */
export const instanceMarker = "TREADLE_INSTANCE_ID";
/** Where a sandboxed server sees its project and its home: the machine's own folders are none of its business. */
const projectInside = "/srv/project";
const homeInside = "/srv/home";
const instanceInside = "/run/treadle";

/** Each server is a process group of its own on this machine, bound to one address, writing to a file of its own. */
export class ProcessRuntime implements Runtime {
  readonly name = "process";
  readonly runs = { built: true, images: false };
  readonly outlivesPlatform: boolean = false;
  readonly host: string;
  readonly #options: ProcessRuntimeOptions;
  /** Ends of the children this process started itself, which need no looking. */
  readonly #children = new Map<string, Promise<Exit>>();
  readonly #exits = new ExitWatch();
  readonly #limit: LimitProcess;
  #ownMounts: Promise<Mount[]> | undefined;

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    this.host = options.host ?? "127.0.0.1";
    this.#limit = createProcessLimits(options.logger);
  }

  isolation(): Promise<Isolation> {
    return this.#options.walls.isolation();
  }

  async start(spec: StartSpec, signal: AbortSignal): Promise<Handle> {
    if (spec.folder === null) throw imagesNeedDocker();
    const launch = await this.#prepare(spec, spec.folder);
    signal.throwIfAborted();
    await makeFolder(dirname(spec.logPath), 0o700);
    const log = await open(spec.logPath, "a", 0o600);
    try {
      return await this.#begin(spec, launch, log.fd);
    } finally {
      await log.close();
    }
  }

  isRunning(handle: Handle): Promise<boolean> {
    return isAlive(identityOf(handle));
  }

  async ended(handle: Handle, signal: AbortSignal): Promise<Exit> {
    const identity = identityOf(handle);
    const child = this.#children.get(keyOf(identity));
    if (child) return child;
    await this.#exits.ended(identity, signal);
    return unknownEnd;
  }

  async stop(handle: Handle): Promise<void> {
    const identity = identityOf(handle);
    if (!(await isAlive(identity))) return;
    if (handle.sandboxed) await signalInside(identity.pid, "SIGTERM");
    else signalGroup(identity.pid, "SIGTERM");
  }

  async kill(handle: Handle): Promise<void> {
    await killGroup(identityOf(handle));
  }

  async usages(handles: readonly Handle[]): Promise<Map<Handle, Usage>> {
    const trees = treeUsages(handles.map((handle) => identityOf(handle).pid));
    const known = handles.flatMap((handle) => {
      const usage = trees.get(identityOf(handle).pid);
      return usage ? [[handle, usage] as const] : [];
    });
    return new Map(known);
  }

  find(instanceId: string): Promise<Handle | null> {
    return findMarked(instanceId);
  }

  /** Folders for its user, and the command behind the walls that are in force. */
  async #prepare(spec: StartSpec, folder: string): Promise<Launch> {
    const { kind } = await this.#options.walls.isolation();
    const sandboxed = kind === "sandbox";
    const user = deploymentUser(spec.deploymentId, spec.workspaceId);
    const isNew = (await mkdir(spec.home, { recursive: true })) !== undefined;
    await chmod(spec.home, 0o700);
    await makeFolder(spec.instanceFolder, 0o700);
    const owner = process.getuid?.() === 0 && kind !== "none" ? user : null;
    const { compileCache } = this.#options;
    if (isNew && compileCache !== undefined) await seedCompileCache(compileCache, spec.home, owner);
    if (owner) {
      await chown(spec.home, user.uid, user.gid);
      await chown(spec.instanceFolder, user.uid, user.gid);
      await chown(folder, 0, user.gid);
    }
    // Other deployments share neither the group nor, in a sandbox, the folder.
    await chmod(folder, 0o750);
    const [program, ...args] = this.#options.command;
    const seenFolder = sandboxed ? projectInside : folder;
    const home = sandboxed ? homeInside : spec.home;
    const configFile = posix.join(seenFolder, spec.configPath);
    return this.#options.walls.enclose({
      command: [program, ...heapLimit(spec), ...args, "agent", "--json"],
      cwd: dirname(configFile),
      user,
      home,
      environment: {
        ...spec.environment,
        HOME: home,
        // The usual place belongs to another user, or is gone with the sandbox.
        NODE_COMPILE_CACHE: posix.join(home, compileCacheName),
        // Arguments are for everybody to read.
        TREADLE_PROJECT_FILE: configFile,
        TREADLE_PORT: String(spec.port),
        TREADLE_READY_FILE: posix.join(sandboxed ? instanceInside : spec.instanceFolder, readyFileName),
        [instanceMarker]: spec.instanceId,
      },
      mounts: sandboxed
        ? [
            ...(await this.#packageMounts()),
            ...((await this.#options.projectMounts?.(folder, spec.configPath)) ?? []),
            { from: folder, to: projectInside },
            { from: spec.home, to: homeInside, writable: true },
            { from: spec.instanceFolder, to: instanceInside, writable: true },
            ...memoryCounters(spec.instanceId),
          ]
        : [],
    });
  }

  #packageMounts(): Promise<Mount[]> {
    this.#ownMounts ??= packageMounts(this.#options.packageRoot);
    return this.#ownMounts;
  }

  async #begin(spec: StartSpec, launch: Launch, logFile: number): Promise<Handle> {
    // A file and not a pipe: the server must not fall silent, or fall over, when the platform goes.
    const enclosed = startEnclosed(launch, ["ignore", logFile, logFile]);
    const { child } = enclosed;
    const end = once(child, "exit").then(async ([code, signal]) => {
      const killed = signal === "SIGKILL" || code === 128 + constants.signals.SIGKILL;
      if (killed && (await ranOutOfMemory(spec.instanceId))) return outOfMemory(spec.resources.memoryBytes);
      return endingOf(code, signal, launch.sandboxed);
    });
    end.catch(() => undefined);
    try {
      await once(child, "spawn");
    } catch (error) {
      throw notStarted(error);
    }
    const pid = child.pid!;
    child.unref();
    const unlimited = await this.#limit(spec.instanceId, pid, spec.resources);
    // Into its own log: its owner asked for the limits, and sees no other.
    if (unlimited !== null && asksForLimits(spec)) await writeText(logFile, limitsMissing(unlimited));
    enclosed.begin();
    const identity = await identify(pid);
    // It has exited already: no other process can be mistaken for it, and its end is reported the usual way.
    const handle = { ...(identity ?? { pid, started: "gone" }), sandboxed: launch.sandboxed };
    this.#children.set(
      keyOf(handle),
      end.finally(() => {
        this.#children.delete(keyOf(handle));
        // What it left behind in its group goes with it.
        signalGroup(pid, "SIGKILL");
        void releaseLimits(spec.instanceId);
      }),
    );
    return handle;
  }
}

const writeText = promisify(write) as (file: number, text: string) => Promise<unknown>;

function asksForLimits({ resources: { memoryBytes, cpus } }: StartSpec): boolean {
  return memoryBytes !== null || cpus !== null;
}

/** A line as the server's own logger writes them. */
function limitsMissing(reason: string): string {
  const msg = `The limits of memory and CPU of this deployment are not in force: this machine cannot set them (${reason}). Run Treadle where control groups are writable, or with TREADLE_RUNTIME=docker.`;
  return `${JSON.stringify({ level: 40, msg })}\n`;
}

const keyOf = ({ pid, started }: ProcessIdentity) => `${pid}:${started}`;

/** Behind walls Node cannot see its limit, and would collect garbage too late. */
function heapLimit({ resources: { memoryBytes } }: StartSpec): string[] {
  return memoryBytes === null
    ? []
    : [`--max-old-space-size=${Math.floor((memoryBytes / 1024 / 1024) * 0.75)}`];
}

function endingOf(code: number | null, signal: string | null, sandboxed: boolean): Exit {
  if (code === portTakenCode) return portTaken;
  const inside = sandboxed && code !== null && code > 128 ? signalName(code - 128) : undefined;
  const name = signal ?? inside;
  return name === undefined ? exitedWith(code) : endedBySignal(name);
}

/** The process that waits outside of a sandbox reports a signal as a shell does: 128 and its number. */
function signalName(number: number): string | undefined {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
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
    if (!text.split("\0").includes(marker) || !(await leadsGroup(Number(name)))) continue;
    const identity = await identify(Number(name));
    const program = await readlink(`/proc/${name}/exe`).catch(() => "");
    if (identity) return { ...identity, sandboxed: basename(program) === "bwrap" };
  }
  return null;
}

function notStarted(error: unknown): AppError {
  return new AppError({
    code: "runtime.not_started",
    kind: "unavailable",
    retryable: false,
    message: `The agent server could not be started: ${errorMessage(error)}.`,
    cause: error,
  });
}

function imagesNeedDocker(): AppError {
  return new AppError({
    code: "runtime.images_unsupported",
    kind: "invalid",
    message:
      "Images need the docker runtime. Start Treadle with TREADLE_RUNTIME=docker, or deploy from a git repository.",
  });
}
