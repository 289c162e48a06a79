/** `treadle logs | head` has seen enough; that is no failure. */
export function endWithReader(): void {
  process.stdout.on("error", endQuietly);
}

/**
 * A server must go on when the reader of its output is gone: the terminal was closed, or the disk of its log is full.
 * Without this the first log line would be an unexpected error, the next the report of it, and so on.
 */
export function outliveReader(): void {
  process.stdout.off("error", endQuietly);
  for (const stream of [process.stdout, process.stderr]) stream.on("error", ignore);
}

/** A pipe without a reader, a terminal that was closed. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE" || error.code === "EIO") process.exit(0);
  throw error;
}

/** No reader is left to report it to. */
function ignore(): void {}
