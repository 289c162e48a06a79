import { createWriteStream } from "node:fs";
import { chmod, chown, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, errorMessage } from "../../../platform/errors.ts";
import { KeyedLock } from "../../../platform/keyed-lock.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { Mount } from "../../sandbox/bubblewrap.ts";
import { makeFolder } from "../../sandbox/data-folders.ts";
import type { Isolation } from "../../sandbox/isolation.ts";
import { deploymentUser, type SystemUser } from "../../sandbox/system-user.ts";
import { carryCertificates } from "../certificates.ts";
import { type Exit, exitedWith, outOfMemory, portTaken, portTakenCode, removed } from "../exit.ts";
import { listenAddress } from "../listen-address.ts";
import type { Handle, PinnedImage, Runtime, StartSpec, Usage } from "../runtime.ts";
import { chooseContainerUser, describeContainer, serveProject } from "./container.ts";
import { DockerEngine } from "./engine.ts";
import { containerEnvironment, type Reach, relayTargets } from "./environment.ts";
import { findImage } from "./image.ts";
import { DockerLogSplitter } from "./log.ts";
import {
  type DeploymentNetwork,
  ensureNetwork,
  findNetwork,
  networkName,
  removeUnusedNetwork,
} from "./network.ts";
import { RelayKeeper } from "./relay-keeper.ts";

export type DockerRuntimeOptions = {
  socketPath: string;
  /** The image built projects run in, and the command of `treadle` inside it. */
  baseImage: string;
  command: readonly string[];
  /** Further folders of this machine the base image needs, as `from:to:ro`. */
  binds?: readonly string[];
  /** What of this machine a built project needs that the base image has not: a Python that lies elsewhere. */
  projectMounts?(folder: string, configPath: string): Promise<Mount[]>;
  /** An address of this machine under which gateways reach the servers; default: loopback. */
  host?: string | undefined;
  /** Networks of deployments are taken from this range, for example `10.231.0.0/16`. */
  subnets: string;
  /** Whether an image may run as the user it names, also as root. */
  allowRoot: boolean;
  /** What servers may see of this machine's environment: files of certificates that it names are brought along. */
  machine?: Readonly<Record<string, string>>;
  /** Without it a server reaches neither the platform nor a database on this machine. */
  reach?: Reach;
  logger: Logger;
};

const logLabel = "treadle.log-path";
const announcesLabel = "treadle.announces";
const networkLabel = "treadle.network";
const limitLabel = "treadle.memory-bytes";
const portRefusal = /port is already allocated|address already in use/i;

/** Each server is a container in a network of its deployment's own; its port is published on one address alone. */
export class DockerRuntime implements Runtime {
  readonly name = "docker";
  readonly runs = { built: true, images: true };
  /** Containers could be found again; that they go on is for the operator to say (`TREADLE_KEEP_SERVERS`). */
  readonly outlivesPlatform: boolean = false;
  readonly host: string;
  readonly #options: DockerRuntimeOptions;
  readonly #engine: DockerEngine;
  readonly #relays: RelayKeeper;
  /** A network is not removed between its making and its first container. */
  readonly #networks = new KeyedLock();

  constructor(options: DockerRuntimeOptions) {
    this.#options = options;
    this.host = options.host ?? "127.0.0.1";
    this.#engine = new DockerEngine(options.socketPath);
    this.#relays = new RelayKeeper({
      logger: options.logger,
      targets: () => relayTargets(options.reach),
      find: (name) => findNetwork(this.#engine, name),
    });
  }

  async isolation(): Promise<Isolation> {
    return { setting: "auto", kind: "containers", problem: null, fix: null, refusal: null };
  }

  async start(spec: StartSpec, signal: AbortSignal): Promise<Handle> {
    await mkdir(dirname(spec.logPath), { recursive: true, mode: 0o700 });
    // Only our own server writes a ready file; of an image we know its health alone.
    const readiness = spec.folder === null ? { announces: false } : {};
    const name = networkName(spec.deploymentId);
    return this.#networks.run(name, async () => {
      signal.throwIfAborted();
      const network = await ensureNetwork(this.#engine, spec.deploymentId, this.#options.subnets);
      await this.#relays.open(network);
      const { id, image } = await this.#create(spec, network, signal);
      const handle = { ...readiness, log_path: spec.logPath, container: id, image };
      try {
        signal.throwIfAborted();
        await this.#engine.call({ method: "POST", path: `/containers/${id}/start` });
      } catch (error) {
        await this.#remove(id);
        if (await removeUnusedNetwork(this.#engine, name)) await this.#relays.close(name);
        if (!portRefusal.test(errorMessage(error))) throw error;
        return { ...handle, port_taken: true };
      }
      return { ...handle, network: name };
    });
  }

  async isRunning(handle: Handle): Promise<boolean> {
    const state = await this.#engine.call<{ State: { Running: boolean } }>({
      method: "GET",
      path: `/containers/${idOf(handle)}/json`,
    });
    return state?.State.Running ?? false;
  }

  async ended(handle: Handle, signal: AbortSignal): Promise<Exit> {
    if (handle.port_taken === true) return portTaken;
    const id = idOf(handle);
    const network = networkOf(handle);
    const release = network === null ? () => {} : this.#relays.hold(network, signal);
    const following = this.#followInto(id, String(handle.log_path), signal).catch((error: unknown) => {
      if (signal.aborted) return;
      const facts = { container: id, reason: errorMessage(error) };
      this.#options.logger.warn(facts, "a container's log cannot be copied");
    });
    for (;;) {
      try {
        const path = `/containers/${id}/wait`;
        const exit = await this.#engine.call<{ StatusCode: number }>({ method: "POST", path, signal });
        if (exit === null) {
          release();
          await this.#dropNetwork(network);
          return removed;
        }
        await Promise.race([following, delay(2_000)]);
        const ending = await this.#endingOf(id, exit.StatusCode, handle.announces !== false);
        await this.#remove(id);
        release();
        await this.#dropNetwork(network);
        return ending;
      } catch (error) {
        // The engine is being restarted; its containers may live on.
        if (signal.aborted || !(error instanceof AppError && error.retryable)) {
          release();
          throw error;
        }
        await delay(1_000, undefined, { signal });
      }
    }
  }

  async stop(handle: Handle): Promise<void> {
    await this.#engine
      .call({ method: "POST", path: `/containers/${idOf(handle)}/kill?signal=SIGTERM` })
      .catch(alreadyEnded);
  }

  async kill(handle: Handle): Promise<void> {
    const path = `/containers/${idOf(handle)}/kill`;
    await this.#engine.call({ method: "POST", path }).catch(alreadyEnded);
    await this.#remove(idOf(handle));
    await this.#dropNetwork(networkOf(handle));
  }

  async usages(handles: readonly Handle[]): Promise<Map<Handle, Usage>> {
    const known = await Promise.all(
      handles.map(async (handle) => {
        const path = `/containers/${idOf(handle)}/stats?stream=false&one-shot=true`;
        const stats = await this.#engine.call<ContainerStats>({ method: "GET", path });
        return stats?.cpu_stats ? ([handle, usageOf(stats)] as const) : null;
      }),
    );
    return new Map(known.filter((entry) => entry !== null));
  }

  async find(instanceId: string): Promise<Handle | null> {
    const path = `/containers/${nameOf(instanceId)}/json`;
    const found = await this.#engine.call<{ Id: string; Config: { Labels: Record<string, string> } }>({
      method: "GET",
      path,
    });
    if (!found) return null;
    const {
      [logLabel]: log_path,
      [announcesLabel]: announces,
      [networkLabel]: network,
    } = found.Config.Labels;
    const readiness = announces === "false" ? { announces: false } : {};
    return { ...readiness, container: found.Id, log_path, network };
  }

  async #projectBinds({ folder, configPath }: StartSpec): Promise<string[]> {
    const mounts = folder === null ? undefined : await this.#options.projectMounts?.(folder, configPath);
    return (mounts ?? []).map(({ from }) => `${from}:${from}:ro`);
  }

  async #create(
    spec: StartSpec,
    network: DeploymentNetwork,
    signal: AbortSignal,
  ): Promise<{ id: string; image: PinnedImage }> {
    const { baseImage, command, allowRoot, reach } = this.#options;
    const isImage = spec.folder === null;
    const reference = isImage ? spec.image! : baseImage;
    const { user: imageUser, pinned } = await findImage(this.#engine, reference, {
      ...{ pinned: spec.pinned, signal },
    });
    const image = pinned.digest;
    const targets = relayTargets(reach);
    const serve = isImage ? null : serveProject(spec, spec.folder!, command);
    const readers = spec.folder === null ? { groups: [] } : await readersOf(spec.folder);
    const user = chooseContainerUser(readers.owner ?? deploymentUser(spec.deploymentId, spec.workspaceId), {
      imageUser,
      isImage,
      allowRoot,
    });
    const binds = [...(this.#options.binds ?? []), ...(await this.#projectBinds(spec))];
    const carried = await carryCertificates(this.#options.machine ?? {}, spec.environment);
    if (user !== "of the image" && !isImage) await makeInstanceFolder(spec.instanceFolder, user);
    const body = describeContainer({
      ...{ spec, image, user },
      publishedAt: listenAddress(this.host),
      network: network.name,
      certificates: carried.certificates,
      environment: containerEnvironment(carried.environment, network.gateway, targets, { isImage }),
      groups: readers.groups,
      serve: serve && { ...serve, binds: [...serve.binds, ...binds] },
      // Enough to go on with it, should the platform die before it has kept the handle.
      labels: {
        [logLabel]: spec.logPath,
        [announcesLabel]: String(!isImage),
        [networkLabel]: network.name,
        [limitLabel]: String(spec.resources.memoryBytes ?? ""),
      },
    });
    const path = `/containers/create?name=${nameOf(spec.instanceId)}`;
    const made = await this.#engine.call<{ Id: string }>({ method: "POST", path, body });
    if (!made) throw new Error(`Docker does not know the image ${image} it has just shown.`);
    return { id: made.Id, image: pinned };
  }

  async #dropNetwork(name: string | null): Promise<void> {
    if (name === null) return;
    await this.#networks.run(name, async () => {
      if (await removeUnusedNetwork(this.#engine, name)) await this.#relays.close(name);
    });
  }

  /** Two may remove it at once: who asked for its end, and who waited for it. */
  async #remove(id: string): Promise<void> {
    for (let round = 0; round < 100; round += 1) {
      const path = `/containers/${id}?force=true&v=true`;
      if ((await this.#engine.call({ method: "DELETE", path }).catch(alreadyEnded)) === null) return;
      await delay(50);
    }
  }

  /** Into the file every runtime's servers write to; after a restart of the platform from where it stopped. */
  async #followInto(id: string, logPath: string, signal: AbortSignal): Promise<void> {
    const written = await stat(logPath).catch(() => null);
    const since = written && written.size > 0 ? `&since=${(written.mtimeMs / 1000 + 0.001).toFixed(6)}` : "";
    const path = `/containers/${id}/logs?follow=true&stdout=true&stderr=true${since}`;
    const response: Readable = await this.#engine.open({ method: "GET", path, signal });
    await pipeline(
      response,
      new DockerLogSplitter(),
      createWriteStream(logPath, { flags: "a", mode: 0o600 }),
    );
  }

  async #endingOf(id: string, code: number, announces: boolean): Promise<Exit> {
    const path = `/containers/${id}/json`;
    const left = await this.#engine.call<EndedContainer>({ method: "GET", path });
    const limit = Number(left?.Config.Labels[limitLabel] || Number.NaN);
    if (left?.State.OOMKilled) return outOfMemory(Number.isNaN(limit) ? null : limit);
    return code === portTakenCode && announces ? portTaken : exitedWith(code);
  }
}

const idOf = (handle: Handle) => String(handle.container);
const networkOf = (handle: Handle) => (typeof handle.network === "string" ? handle.network : null);

type EndedContainer = { State: { OOMKilled: boolean }; Config: { Labels: Record<string, string> } };

type ContainerStats = {
  cpu_stats?: { cpu_usage?: { total_usage?: number } };
  memory_stats?: { usage?: number; stats?: { inactive_file?: number; total_inactive_file?: number } };
};

function usageOf({ cpu_stats, memory_stats }: ContainerStats): Usage {
  // The kernel's file cache is not memory that the server needs.
  const cached = memory_stats?.stats?.inactive_file ?? memory_stats?.stats?.total_inactive_file ?? 0;
  return {
    cpuSeconds: (cpu_stats?.cpu_usage?.total_usage ?? 0) / 1e9,
    memoryBytes: Math.max(0, (memory_stats?.usage ?? 0) - cached),
  };
}

function nameOf(instanceId: string): string {
  return `treadle-${instanceId}`;
}

/** Who may read an artifact: everybody, its group, or, as an ordinary user's platform may leave it, its owner alone. */
async function readersOf(folder: string): Promise<{ groups: number[]; owner?: SystemUser }> {
  const { mode, uid, gid } = await stat(folder);
  if ((mode & 0o005) === 0o005) return { groups: [] };
  if ((mode & 0o050) === 0o050 || uid === 0) return { groups: [gid] };
  return { groups: [], owner: { uid, gid } };
}

/** The one folder of this machine that the server may write to: for its ready file. */
async function makeInstanceFolder(path: string, user: SystemUser): Promise<void> {
  await makeFolder(path, 0o700);
  if (process.getuid?.() === 0) await chown(path, user.uid, user.gid);
  // Without root its owner cannot be changed; other users cannot pass the folders above it.
  else if (user.uid !== process.getuid?.()) await chmod(path, 0o777);
}

function alreadyEnded(error: unknown): void {
  if (error instanceof AppError && error.code === "runtime.docker_refused") return;
  throw error;
}
