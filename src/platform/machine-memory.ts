import { totalmem } from "node:os";

/** In bytes; in a container, what it may use. */
export function machineMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
