import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { KubernetesApi } from "./api.ts";
import { serverContainer } from "./objects.ts";
import { type Pod, serverOf } from "./pods.ts";
import { KubernetesRefusal } from "./refusal.ts";
import { backoffMs } from "./watch.ts";

export type PodLogsOptions = {
  api: Pick<KubernetesApi, "open">;
  namespace: string;
  path: string;
  logger: Logger;
  firstBackoffMs?: number;
};

const maxLineBytes = 64 * 1024;

type LogTarget = { stream: WriteStream; since: string | null };

/**
 * Follows what the pods of one instance print into the file that every runtime's servers write to; after a restart of
 * the platform, and after a connection that broke, from where it stopped.
 */
export class PodLogs {
  readonly #following = new Map<string, Promise<void>>();
  readonly #running = new Set<string>();
  readonly #stop = new AbortController();
  /** The server has ended: what it printed is read to its end. */
  readonly #ending = new AbortController();
  readonly #options: PodLogsOptions;
  #target: Promise<LogTarget> | undefined;

  constructor(options: PodLogsOptions) {
    this.#options = options;
  }

  /** Each container that has begun, once; one that was started again is another. */
  follow(pods: readonly Pod[]): void {
    this.#running.clear();
    for (const pod of pods) {
      const server = serverOf(pod);
      const hasBegun = server?.state?.running ?? server?.state?.terminated ?? server?.lastState?.terminated;
      if (!hasBegun) continue;
      const container = `${pod.metadata.uid}/${server?.restartCount ?? 0}`;
      if (server?.state?.running) this.#running.add(container);
      if (this.#following.has(container)) continue;
      this.#following.set(container, this.#copy(pod.metadata.name, container));
    }
  }

  /** Waits a moment for the last words. */
  async end(): Promise<void> {
    this.#ending.abort();
    await Promise.race([Promise.all(this.#following.values()), delay(2_000)]);
    await this.release();
  }

  /** Never fails: what cannot be written is in the platform's own log. */
  async release(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#following.values());
    const target = await this.#target?.catch(() => undefined);
    if (!target || target.stream.destroyed) return;
    target.stream.end();
    await finished(target.stream).catch(() => {});
  }

  /** Until the container has ended and all is read, or the pod is gone. */
  async #copy(pod: string, container: string): Promise<void> {
    const { logger, firstBackoffMs = 500 } = this.#options;
    const pause = AbortSignal.any([this.#stop.signal, this.#ending.signal]);
    const progress: Progress = { since: null, failures: 0 };
    while (!this.#stop.signal.aborted) {
      const isLast = this.#ending.signal.aborted;
      let isWhole = false;
      try {
        await this.#copyOnce(pod, progress);
        isWhole = true;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (error instanceof KubernetesRefusal && error.status === 404) return;
        logger.warn({ pod, reason: errorMessage(error) }, "a pod's log cannot be copied; trying again");
      }
      progress.failures += 1;
      if (isLast) return;
      await delay(backoffMs(progress.failures, firstBackoffMs), undefined, { signal: pause }).catch(() => {});
      // A connection can end in order though the container runs on.
      if (isWhole && (this.#ending.signal.aborted || !this.#running.has(container))) return;
    }
  }

  async #copyOnce(pod: string, progress: Progress): Promise<void> {
    const { signal } = this.#stop;
    this.#target ??= this.#open();
    const { stream, since } = await this.#target;
    const { api, namespace } = this.#options;
    progress.since ??= since;
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log`;
    const response = await api.open({
      ...{ method: "GET", path, lasting: true, signal },
      query: {
        ...{ container: serverContainer, follow: "true" },
        ...(progress.since ? { sinceTime: progress.since } : {}),
      },
    });
    for await (const lines of wholeLines(response)) {
      if (stream.destroyed) throw new Error("its file was closed");
      const isFull = !stream.write(lines);
      // Times of the API have whole seconds: a few lines may come twice, none is left out.
      progress.since = new Date().toISOString();
      progress.failures = 0;
      if (isFull) await once(stream, "drain", { signal });
    }
  }

  async #open(): Promise<LogTarget> {
    const { path, logger } = this.#options;
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const written = await stat(path).catch(() => null);
      const since = written && written.size > 0 ? written.mtime.toISOString() : null;
      const stream = createWriteStream(path, { flags: "a", mode: 0o600 });
      // For example a full disk: the next attempt opens it again.
      stream.on("error", (error) => {
        logger.error({ err: error, path }, "a server's log cannot be written");
        this.#target = undefined;
      });
      return { stream, since };
    } catch (error) {
      this.#target = undefined;
      throw error;
    }
  }
}

/** Several pods write into one file: none of them breaks into a line of another, unless the line is very long. */
async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  let broken: { by: unknown } | null = null;
  try {
    for await (const chunk of chunks) {
      const held = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = held.length > maxLineBytes ? held.length : held.lastIndexOf(10) + 1;
      rest = held.subarray(end);
      if (end > 0) yield held.subarray(0, end);
    }
  } catch (by) {
    broken = { by };
  }
  if (rest.length > 0) yield Buffer.concat([rest, Buffer.from("\n")]);
  if (broken) throw broken.by;
}

/** What is known of one container's log between two connections. */
type Progress = { since: string | null; failures: number };
