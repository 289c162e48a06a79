/** One on this machine: how long it was not used, and its record in the database; undefined: it has none. */
export type KeptArtifact = {
  key: string;
  idleMs: number;
  use: { bytes: number; runs: boolean } | undefined;
};

/** What was asked for a moment ago may be about to start. */
const graceMs = 10 * 60_000;

/** Those to remove here, longest unused first: what is gone from the database, then what is too much. Never what runs. */
export function leastNeeded(kept: readonly KeptArtifact[], maxBytes: number): string[] {
  const idle = kept.filter(({ idleMs, use }) => idleMs >= graceMs && use?.runs !== true);
  const removed = idle.filter(({ use }) => use === undefined).map(({ key }) => key);
  let excess = kept.reduce((sum, { use }) => sum + (use?.bytes ?? 0), 0) - maxBytes;
  for (const { key, use } of idle.toSorted((a, b) => b.idleMs - a.idleMs)) {
    if (excess <= 0) break;
    if (use === undefined) continue;
    removed.push(key);
    excess -= use.bytes;
  }
  return removed;
}
