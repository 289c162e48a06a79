import { Socket } from "node:net";

/** The bytes of one CopyData message, valid during the call only. */
export type CopyData = (source: Buffer, start: number, end: number) => void;

const readBytes = 256 * 1024;
const headBytes = 5;
const copyDataCode = 0x64;

/**
 * A connection to the database that reads into the same memory again and again, and hands the rows of a COPY over
 * from there. New memory for every read, as the driver has it, made the collector of garbage cost more than a third
 * of what compression does. Whole messages that are not rows go to the driver as ever.
 */
export function copySocket(onCopyData: CopyData): Socket {
  let memory = Buffer.allocUnsafeSlow(readBytes);
  /** Bytes at the front, of a message that is not complete yet. */
  let held = 0;

  const handOver = (end: number): number => {
    let at = 0;
    let forDriver = 0;
    const flush = () => {
      if (at > forDriver) socket.emit("data", memory.subarray(forDriver, at));
    };
    while (at + headBytes <= end && !socket.destroyed) {
      const next = at + 1 + memory.readUInt32BE(at + 1);
      if (next > end) break;
      if (memory[at] === copyDataCode) {
        flush();
        onCopyData(memory, at + headBytes, next);
        forDriver = next;
      }
      at = next;
    }
    flush();
    return at;
  };
  const keep = (start: number, end: number) => {
    held = end - start;
    const whole = held < headBytes ? headBytes : 1 + memory.readUInt32BE(start + 1);
    const from = memory;
    if (whole > memory.length) memory = Buffer.allocUnsafeSlow(whole + readBytes);
    from.copy(memory, 0, start, end);
  };

  const socket: Socket = new Socket({
    onread: {
      buffer: () => memory.subarray(held),
      callback: (count: number) => {
        const end = held + count;
        keep(handOver(end), end);
        return true;
      },
    },
  });
  return socket;
}
