import type { SseFrame } from "../../platform/http/server/sse.ts";
import type { ThreadEvent } from "./thread-event.ts";
import type { ThreadFeed } from "./thread-feed.ts";

export const threadStreamModes = ["run_modes", "lifecycle", "state_update"] as const;
export type ThreadStreamMode = (typeof threadStreamModes)[number];

export type ThreadStreamOptions = {
  feed: ThreadFeed;
  threadId: string;
  afterSeq: number;
  modes: readonly ThreadStreamMode[];
  signal: AbortSignal;
  /** JSON text of the thread's values as the last run left them. */
  values(): Promise<string>;
};

/**
 * Everything that runs on a thread, one run after another, until the client leaves:
 * - `run_modes`: the events of the runs' own stream modes
 * - `lifecycle`: the beginning and the end of each run
 * - `state_update`: the thread's values after each run
 */
export async function* threadFrames(options: ThreadStreamOptions): AsyncGenerator<SseFrame[]> {
  // Sends the headers before anything happens on the thread.
  yield [];
  for await (const page of options.feed.read(options.threadId, options.afterSeq, options.signal)) {
    const frames: SseFrame[] = [];
    for (const event of page) frames.push(...(await framesOf(event, options)));
    if (frames.length > 0) yield frames;
  }
}

async function framesOf(event: ThreadEvent, { modes, values }: ThreadStreamOptions): Promise<SseFrame[]> {
  const id = String(event.seq);
  const begins = event.family === "run" && event.name === "metadata";
  const ends = event.family === "control";
  const frames: SseFrame[] = [];
  if (modes.includes("run_modes") && event.family === "run")
    frames.push({ event: event.name, data: event.data, id });
  if (modes.includes("state_update") && ends)
    frames.push({
      event: "state_update",
      data: `{"run_id":${JSON.stringify(event.runId)},"values":${await values()}}`,
      id,
    });
  if (modes.includes("lifecycle") && (begins || ends)) {
    const status = begins ? "running" : (JSON.parse(event.data) as { status: string }).status;
    frames.push({ event: "lifecycle", data: JSON.stringify({ run_id: event.runId, status }), id });
  }
  return frames;
}
