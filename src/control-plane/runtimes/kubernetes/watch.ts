import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesApi, KubernetesObject } from "./api.ts";
import { KubernetesRefusal, readStatus } from "./refusal.ts";

/**
 * `all`: everything that exists now; what it does not list is gone. A missing event never means that something is gone.
 */
export type Seen<Item> =
  | { kind: "all"; objects: (Item & KubernetesObject)[] }
  | { kind: "changed" | "removed"; object: Item & KubernetesObject };

export type WatchOptions = {
  path: string;
  labelSelector: string;
  /** The API server does not answer, or refuses; the watch goes on trying. */
  onTrouble(error: unknown): void;
  /** How long the server keeps one watch open; each takes a little more or less, so that they do not end together. */
  serverSeconds?: number;
  /** After so long without any event, not even a bookmark, the connection counts as dead. */
  silenceMs?: number;
  firstBackoffMs?: number;
};

/** An object has at most 1.5 MB. */
const maxLineBytes = 8 * 1024 * 1024;
const maxBackoffMs = 30_000;

type WatchEvent<Item> = {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: Item & KubernetesObject;
};

/**
 * Lists, then watches from there, for as long as it is read. Connections that end, break or fall silent are opened
 * again from the last version that was seen; if the server no longer has that version, everything is listed again.
 */
export async function* watchObjects<Item>(
  api: KubernetesApi,
  options: WatchOptions,
  signal: AbortSignal,
): AsyncGenerator<Seen<Item>, void, undefined> {
  let version: string | null = null;
  let failures = 0;
  while (!signal.aborted) {
    try {
      if (version === null) {
        const listed = await api.list<Item>(options.path, options.labelSelector, signal);
        version = listed.resourceVersion;
        yield { kind: "all", objects: listed.items };
      }
      const begun = performance.now();
      for await (const { type, object } of watchOnce<Item>(api, options, version, signal)) {
        failures = 0;
        version = object.metadata.resourceVersion;
        if (type === "BOOKMARK") continue;
        yield { kind: type === "DELETED" ? "removed" : "changed", object };
      }
      // The server ends watches in order, but not at once.
      if (performance.now() - begun < 1_000) throw new Error("the watch ended as soon as it began");
    } catch (error) {
      if (signal.aborted) return;
      // Also a version from a time the server does not know of, for example after a restored backup.
      if (error instanceof KubernetesRefusal) version = null;
      if (error instanceof KubernetesRefusal && error.isExpired) continue;
      options.onTrouble(error);
      failures += 1;
      await delay(backoffMs(failures, options.firstBackoffMs ?? 500), undefined, { signal }).catch(() => {});
    }
  }
}

/** Up to 30 s, and never in step with others. */
export function backoffMs(failures: number, firstMs: number): number {
  const wait = Math.min(maxBackoffMs, firstMs * 2 ** Math.min(failures - 1, 10));
  return wait * (0.8 + Math.random() * 0.2);
}

async function* watchOnce<Item>(
  api: KubernetesApi,
  { path, labelSelector, serverSeconds = 240, silenceMs = 120_000 }: WatchOptions,
  resourceVersion: string,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<Item>, void, undefined> {
  const seconds = Math.max(1, Math.round(serverSeconds * (0.9 + Math.random() * 0.2)));
  const call = { method: "GET", path };
  const response = await api.open({
    ...{ ...call, lasting: true, signal },
    query: {
      ...{ watch: "true", allowWatchBookmarks: "true", labelSelector, resourceVersion },
      timeoutSeconds: String(seconds),
    },
  });
  const silence = setTimeout(
    () => response.destroy(new Error(`the watch was silent for ${Math.round(silenceMs / 1000)} s`)),
    silenceMs,
  );
  try {
    for await (const line of linesOf(response)) {
      silence.refresh();
      const event = JSON.parse(line) as WatchEvent<Item>;
      if (event.type === "ERROR")
        throw new KubernetesRefusal(call, readStatus(500, JSON.stringify(event.object)));
      yield event;
    }
  } finally {
    clearTimeout(silence);
    response.destroy();
  }
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void, undefined> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      pieces.push(chunk.subarray(from, end));
      const line = Buffer.concat(pieces).toString("utf8");
      pieces = [];
      bytes = 0;
      from = end + 1;
      if (line.trim() !== "") yield line;
    }
    pieces.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > maxLineBytes) throw new Error(`an event of the watch has more than ${maxLineBytes} bytes`);
  }
}
