/*
 * Messages between the server and a Python process: `u32 length | u8 kind | u8 flags | u16 segments | u32 call |
 * u32 × segments | bytes`, big-endian. Segment 0 is JSON; what follows is opaque. A long message is cut into frames,
 * which those of other calls come between, so that a large state delays no token.
 */

export const frameKinds = {
  call: 1,
  reply: 2,
  error: 3,
  item: 4,
  end: 5,
  credit: 6,
  cancel: 7,
} as const;
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

const highestKind = Math.max(...Object.values(frameKinds));

export function isFrameKind(kind: number): kind is FrameKind {
  return kind >= 1 && kind <= highestKind;
}

/** Text is written as UTF-8. */
export type Segment = string | Uint8Array;

export type Message = { kind: FrameKind; call: number; segments: readonly Segment[] };

export type ReceivedMessage = { kind: FrameKind; call: number; segments: readonly Buffer[] };

/** After the length itself. */
export const headerBytes = 8;
export const moreFlag = 1;
/** Of a message's bytes, in one frame. */
export const maxFrameBytes = 256 * 1024;
const maxTableBytes = 64 * 1024;
export const maxFrameLength = headerBytes + maxTableBytes + maxFrameBytes;
export const maxSegments = maxTableBytes / 4;
/** As long as a text of this process can be. */
export const maxMessageBytes = 512 * 1024 * 1024;

/** Something that is no frame, or does not belong where it came. The process it came from cannot be talked to. */
export class ProtocolError extends Error {
  override name = "ProtocolError";
}
