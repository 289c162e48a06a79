import { databaseTrouble } from "../../platform/db/database-errors.ts";
import type { SseBatch, SseFrame } from "../../platform/http/server/sse.ts";
import type { StreamMode } from "../graphs/graph-call.ts";
import type { JoinPoint } from "./join-point.ts";
import { sharedFrame } from "./shared-frame.ts";
import type { ThreadEvent } from "./thread-event.ts";
import type { ThreadFeed } from "./thread-feed.ts";

export type RunStreamOptions = JoinPoint & {
  feed: ThreadFeed;
  threadId: string;
  runId: string;
  /** Only these modes; undefined passes everything. */
  modes?: readonly StreamMode[];
  signal: AbortSignal;
  /** Ids let a client come back with Last-Event-ID. */
  withIds: boolean;
  /** Large events as bytes that all their readers share. */
  shares: boolean;
  /** Whether the run is over although its last entry is not in the log any more. */
  isOver(): Promise<boolean>;
};

/** The frames of one run, until its end. */
export async function* runFrames(options: RunStreamOptions): AsyncGenerator<SseBatch> {
  const { feed, threadId, runId, signal } = options;
  let { afterSeq } = options;
  for await (const page of feed.read(threadId, afterSeq, signal)) {
    // Nothing new but something happened: a queued run was cancelled, its log was pruned, or a notice came late.
    if (page.length === 0 && (await isOver(options))) {
      // In another process it may have written its last events after this page was read, and before it was asked for.
      yield* pastFrames({ ...options, afterSeq });
      return;
    }
    afterSeq = page.at(-1)?.seq ?? afterSeq;
    const own = page.filter((event) => event.runId === runId);
    const frames = selectFrames(own, options);
    if (frames.length > 0) yield frames;
    if (own.some((event) => event.family === "control")) return;
  }
}

/** While the database is away it is not known; the next ring asks again. */
async function isOver(options: RunStreamOptions): Promise<boolean> {
  try {
    return await options.isOver();
  } catch (error) {
    if (databaseTrouble(error)) return false;
    throw error;
  }
}

function selectFrames(events: ThreadEvent[], options: RunStreamOptions): SseBatch {
  const { modes, withIds, shares, afterNumber = -1 } = options;
  return events
    .filter((event) => event.family === "run" && event.number > afterNumber && isWanted(event.name, modes))
    .map((event) => (shares ? toSharedFrame(event, withIds) : toFrame(event, withIds)));
}

/** A run that ended: the events that the log still holds, without waiting for more. */
export async function* pastFrames(options: RunStreamOptions): AsyncGenerator<SseBatch> {
  let cursor = options.afterSeq;
  for (;;) {
    const page = await options.feed.page(options.threadId, cursor);
    const own = page.filter((event) => event.runId === options.runId);
    const frames = selectFrames(own, options);
    if (frames.length > 0) yield frames;
    // What follows its end is of later runs, and may go on for long.
    if (page.length === 0 || own.some((event) => event.family === "control")) return;
    cursor = page[page.length - 1]!.seq;
  }
}

/** `metadata`, `error` and `feedback` always pass; the rest by the mode before `/` and `|`. */
function isWanted(name: string, modes: readonly StreamMode[] | undefined): boolean {
  if (!modes || modes.length === 0) return true;
  const mode = name.split(/[/|]/, 1)[0]!;
  if (mode === "metadata" || mode === "error" || mode === "feedback") return true;
  if (mode === "messages") {
    return name.includes("/") ? modes.includes("messages") : modes.includes("messages-tuple");
  }
  return modes.includes(mode as StreamMode);
}

function toSharedFrame(event: ThreadEvent, withId: boolean): SseBatch[number] {
  return sharedFrame(event, withId ? "run with id" : "run", () => toFrame(event, withId));
}

function toFrame(event: ThreadEvent, withId: boolean): SseFrame {
  return withId
    ? { event: event.name, data: event.data, id: String(event.number) }
    : { event: event.name, data: event.data };
}
