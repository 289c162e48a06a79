/** `treadle logs | head` has seen enough; that is no failure. */
export function endWithReader(): void {
  process.stdout.on("error", endQuietly);
}

/**
 * A server serves others than the terminal it was started from: when that closes, it goes on unheard.
 * Without this the first log line would be an unexpected error, the next the report of it, and so on.
 */
export function outliveReader(): void {
  process.stdout.off("error", endQuietly);
  for (const stream of [process.stdout, process.stderr]) stream.on("error", goOnUnheard);
}

function endQuietly(error: NodeJS.ErrnoException): void {
  if (isLostReader(error)) process.exit(0);
  throw error;
}

function goOnUnheard(error: NodeJS.ErrnoException): void {
  if (!isLostReader(error)) throw error;
}

/** A pipe without a reader, a terminal that was closed. */
function isLostReader(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE" || error.code === "EIO";
}
