import { encodeFrame, type SseFrame } from "../../platform/http/server/sse.ts";
import type { ThreadEvent } from "./thread-event.ts";

/** Above this an event is encoded once for all who listen; below it is cheaper to write it each time. */
export const largeEventLength = 32 * 1024;

/** By event, then by its form: with or without an id, as an event of a run or of the protocol. */
const encoded = new WeakMap<ThreadEvent, Map<string, Uint8Array>>();

/** The frame of an event; a large one as bytes that all its listeners share. */
export function sharedFrame(
  event: ThreadEvent,
  form: string,
  make: () => SseFrame,
): SseFrame | Uint8Array<ArrayBufferLike> {
  if (event.data.length < largeEventLength) return make();
  let frames = encoded.get(event);
  if (!frames) {
    frames = new Map();
    encoded.set(event, frames);
  }
  let bytes = frames.get(form);
  if (!bytes) {
    bytes = Buffer.from(encodeFrame(make()));
    frames.set(form, bytes);
  }
  return bytes;
}
