const mb = 2 ** 20;
const [least, most] = [128, 512];
/** The rest is for the programs beside it, and for the system's own cache of the same files. */
const share = 1 / 32;

/**
 * `shared_buffers` of the embedded server. With PostgreSQL's own 128 MB, tables of a million rows are read from the
 * system again and again, for half of the throughput. What is not used takes no memory.
 */
export function sharedBuffers(memoryBytes: number): string {
  const wanted = Math.floor((memoryBytes * share) / mb);
  return `${Math.min(most, Math.max(least, wanted))}MB`;
}
