import { createWriteStream } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Usage } from "../metrics/metric.ts";
import { createDockerEngine } from "./docker-engine.ts";
import { DockerLogSplitter } from "./docker-log.ts";
import { portTaken } from "./instance.ts";
import type { Handle, Runtime, StartSpec } from "./runtime.ts";

export type DockerRuntimeOptions = {
  socketPath: string;
  /** The image built projects run in, and the command of `treadle` inside it. */
  baseImage: string;
  command: readonly string[];
  /** Further folders of this machine the base image needs, as `from:to:ro`. */
  binds?: readonly string[];
  logger: Logger;
};

const logLabel = "treadle.log-path";
const announcesLabel = "treadle.announces";
const projectFolder = "/deps/project";
const goneReason = "its container was removed";

/**
 * Each server is a container on the host's network, bound to loopback like a process would be: the gateway and the
 * database are reached the same way in both runtimes.
 */
export function createDockerRuntime(options: DockerRuntimeOptions): Runtime {
  const engine = createDockerEngine(options.socketPath);
  const idOf = (handle: Handle) => String(handle.container);

  async function ensureImage(image: string): Promise<void> {
    if (await engine.call({ method: "GET", path: `/images/${encodeURIComponent(image)}/json` })) return;
    const path = `/images/create?fromImage=${encodeURIComponent(image)}`;
    const ended = await engine
      .call<{ error?: string }>({ method: "POST", path })
      .catch((error: unknown) => ({ error: errorMessage(error) }));
    if (ended !== null && ended.error === undefined) return;
    throw new AppError({
      code: "runtime.image_missing",
      kind: "invalid",
      message: `The image ${image} cannot be pulled: ${ended?.error ?? "it does not exist"}. Check image_uri and that this machine may read it.`,
    });
  }

  async function create(spec: StartSpec): Promise<string> {
    const built = spec.folder !== null;
    const image = built ? options.baseImage : spec.image!;
    await ensureImage(image);
    const environment = built ? { ...spec.environment, HOME: "/tmp" } : withoutMachine(spec.environment);
    const serve = [
      "agent",
      "--json",
      "--config",
      join(projectFolder, spec.configPath),
      "--port",
      String(spec.port),
    ];
    const body = {
      Image: image,
      Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      // Enough to go on with it, should the platform die before it has kept the handle.
      Labels: { [logLabel]: spec.logPath, [announcesLabel]: String(built) },
      ...(built
        ? { Cmd: [...options.command, ...serve], WorkingDir: join(projectFolder, dirname(spec.configPath)) }
        : {}),
      HostConfig: {
        NetworkMode: "host",
        Binds: built ? [`${spec.folder}:${projectFolder}:ro`, ...(options.binds ?? [])] : [],
        ...(spec.resources.memoryBytes === null ? {} : { Memory: spec.resources.memoryBytes }),
        ...(spec.resources.cpus === null ? {} : { NanoCpus: Math.round(spec.resources.cpus * 1e9) }),
        SecurityOpt: ["no-new-privileges"],
        LogConfig: { Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } },
      },
    };
    const path = `/containers/create?name=${nameOf(spec.instanceId)}`;
    const made = await engine.call<{ Id: string }>({ method: "POST", path, body });
    if (!made) throw new Error(`Docker does not know the image ${image} it has just shown.`);
    return made.Id;
  }

  /** Two may remove it at once: who asked for its end, and who waited for it. */
  async function remove(id: string): Promise<void> {
    for (let round = 0; round < 100; round += 1) {
      const path = `/containers/${id}?force=true&v=true`;
      if ((await engine.call({ method: "DELETE", path }).catch(alreadyEnded)) === null) return;
      await delay(50);
    }
  }

  /** Into the file every runtime's servers write to; after a restart of the platform from where it stopped. */
  async function followInto(id: string, logPath: string, signal: AbortSignal): Promise<void> {
    const written = await stat(logPath).catch(() => null);
    const since = written && written.size > 0 ? `&since=${(written.mtimeMs / 1000 + 0.001).toFixed(6)}` : "";
    const path = `/containers/${id}/logs?follow=true&stdout=true&stderr=true${since}`;
    const response: Readable = await engine.open({ method: "GET", path, signal });
    const file = createWriteStream(logPath, { flags: "a", mode: 0o600 });
    for await (const chunk of response.pipe(new DockerLogSplitter())) file.write(chunk);
    await new Promise<void>((resolve) => file.end(resolve));
  }

  return {
    name: "docker",
    runs: { built: true, images: true },
    isolation: async () => ({
      ...{ setting: "auto", kind: "containers" },
      ...{ problem: null, fix: null, refusal: null },
    }),

    async start(spec) {
      await mkdir(dirname(spec.logPath), { recursive: true, mode: 0o700 });
      const id = await create(spec);
      try {
        await engine.call({ method: "POST", path: `/containers/${id}/start` });
      } catch (error) {
        await remove(id);
        throw error;
      }
      // Only our own server says when it is ready; of an image we know its health alone.
      return { container: id, log_path: spec.logPath, announces: spec.folder !== null };
    },
    async isRunning(handle) {
      const state = await engine.call<{ State: { Running: boolean } }>({
        method: "GET",
        path: `/containers/${idOf(handle)}/json`,
      });
      return state?.State.Running ?? false;
    },
    async ended(handle, signal) {
      const id = idOf(handle);
      const following = followInto(id, String(handle.log_path), signal).catch((error: unknown) => {
        if (!signal.aborted)
          options.logger.warn(
            { container: id, reason: errorMessage(error) },
            "a container's log cannot be read",
          );
      });
      for (;;) {
        try {
          const path = `/containers/${id}/wait`;
          const exit = await engine.call<{ StatusCode: number }>({ method: "POST", path, signal });
          if (exit === null) return goneReason;
          await Promise.race([following, delay(2_000)]);
          await remove(id);
          return exit.StatusCode === 4 && handle.announces ? portTaken : `exit code ${exit.StatusCode}`;
        } catch (error) {
          // The engine is being restarted; its containers may live on.
          if (signal.aborted || !(error instanceof AppError && error.retryable)) throw error;
          await delay(1_000, undefined, { signal });
        }
      }
    },
    async stop(handle) {
      await engine
        .call({ method: "POST", path: `/containers/${idOf(handle)}/kill?signal=SIGTERM` })
        .catch(alreadyEnded);
    },
    async kill(handle) {
      await engine.call({ method: "POST", path: `/containers/${idOf(handle)}/kill` }).catch(alreadyEnded);
      await remove(idOf(handle));
    },
    async usages(handles) {
      const known = await Promise.all(
        handles.map(async (handle) => {
          const path = `/containers/${idOf(handle)}/stats?stream=false&one-shot=true`;
          const stats = await engine.call<ContainerStats>({ method: "GET", path });
          return stats?.cpu_stats ? ([handle, usageOf(stats)] as const) : null;
        }),
      );
      return new Map(known.filter((entry) => entry !== null));
    },
    async find(instanceId) {
      const path = `/containers/${nameOf(instanceId)}/json`;
      const found = await engine.call<{ Id: string; Config: { Labels: Record<string, string> } }>({
        method: "GET",
        path,
      });
      if (!found) return null;
      const { [logLabel]: log_path, [announcesLabel]: announces } = found.Config.Labels;
      return { container: found.Id, log_path, announces: announces === "true" };
    },
  };
}

type ContainerStats = {
  cpu_stats?: { cpu_usage?: { total_usage?: number } };
  memory_stats?: { usage?: number; stats?: { inactive_file?: number; total_inactive_file?: number } };
};

function usageOf({ cpu_stats, memory_stats }: ContainerStats): Usage {
  // Files the kernel keeps at hand are not what the server needs.
  const cached = memory_stats?.stats?.inactive_file ?? memory_stats?.stats?.total_inactive_file ?? 0;
  return {
    cpuSeconds: (cpu_stats?.cpu_usage?.total_usage ?? 0) / 1e9,
    memoryBytes: Math.max(0, (memory_stats?.usage ?? 0) - cached),
  };
}

function nameOf(instanceId: string): string {
  return `treadle-${instanceId}`;
}

/** An image brings its own paths; the machine's mean nothing in it. */
function withoutMachine({
  PATH: _path,
  HOME: _home,
  TMPDIR: _tmp,
  ...rest
}: Record<string, string>): Record<string, string> {
  return rest;
}

function alreadyEnded(error: unknown): void {
  if (error instanceof AppError && error.code === "runtime.docker_refused") return;
  throw error;
}
