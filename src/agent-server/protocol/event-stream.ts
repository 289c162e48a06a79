import type { Caller } from "../../platform/http/access/caller.ts";
import type { SseBatch, SseFrame } from "../../platform/http/server/sse.ts";
import { methodOf } from "../../platform/streaming-protocol/event-name.ts";
import type { EventFilter } from "../../platform/streaming-protocol/subscription-filter.ts";
import { toWireText } from "../delivery/protocol-event.ts";
import { sharedFrame } from "../delivery/shared-frame.ts";
import type { ThreadEvent } from "../delivery/thread-event.ts";
import { type EventReader, selectEvents } from "./event-reader.ts";
import { gapEnvelope } from "./protocol-error.ts";
import type { ProtocolThread } from "./protocol-store.ts";

export type EventStreamOptions = {
  reader: EventReader;
  caller: Caller;
  threadId: string;
  filter: EventFilter;
  /** Absent: everything the log still holds. */
  since: number | undefined;
  /** Undefined while the thread does not exist. */
  thread: ProtocolThread | undefined;
  signal: AbortSignal;
};

/** The frames of one subscription over SSE: replay, then live, for as long as the connection lasts. */
export async function* eventFrames(options: EventStreamOptions): AsyncGenerator<SseBatch> {
  const { reader, caller, threadId, filter, since, thread, signal } = options;
  const prunedSeq = thread?.pruned_protocol_seq ?? 0;
  // The place of an event in the log is never before its number.
  const from = { threadId, afterSeq: since ?? 0, admitted: thread !== undefined };
  const release = thread ? undefined : await reader.expect(threadId);
  try {
    // The first, empty batch sends the headers: a client that subscribes before any run must not wait for one.
    yield since !== undefined && since < prunedSeq ? [gapFrame(since, prunedSeq)] : [];
    for await (const { events } of reader.follow(caller, from, signal)) {
      const unseen = events.filter((event) => event.number > (since ?? 0));
      const frames = selectEvents(unseen, [filter]).map(toFrame);
      if (frames.length > 0) yield frames;
    }
  } finally {
    release?.();
  }
}

function toFrame(event: ThreadEvent): SseBatch[number] {
  return sharedFrame(event, "protocol", () => ({
    event: methodOf(event.name),
    data: toWireText(event),
    id: String(event.number),
  }));
}

function gapFrame(since: number, prunedSeq: number): SseFrame {
  return { event: "error", data: JSON.stringify(gapEnvelope(since, prunedSeq)) };
}
