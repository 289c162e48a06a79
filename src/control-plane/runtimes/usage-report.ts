import { z } from "zod";
import { askOwnServer, type Probed } from "./health-probe.ts";

const amount = z.number().nonnegative();
const runs = amount.int().max(1e6).nullish();
/** Deployed code answers: beyond what any machine has, it is not believed. */
const schema = z
  .object({
    ...{ cpu_seconds: amount.max(1e12), memory_bytes: amount.max(2 ** 50) },
    ...{ pending_runs: runs, running_runs: runs },
  })
  .transform((given) => ({
    cpuSeconds: given.cpu_seconds,
    memoryBytes: given.memory_bytes,
    pendingRuns: given.pending_runs ?? null,
    runningRuns: given.running_runs ?? null,
  }));

/** What one replica says of itself. `pendingRuns` are those of all replicas: they share a queue. */
export type UsageReport = z.output<typeof schema>;

const patienceMs = 2_000;

/**
 * Null where the server is none of ours, or an older one, and when it does not answer: it is ending, or too busy to say
 * how busy it is. `withRuns`: also its runs, which it has to ask its database for.
 */
export async function askUsage(
  server: Probed,
  { withRuns }: { withRuns: boolean },
  signal: AbortSignal,
): Promise<UsageReport | null> {
  const soon = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  try {
    return readUsage(await askOwnServer(server, withRuns ? "/usage?runs" : "/usage", soon));
  } catch (error) {
    if (signal.aborted) throw error;
    return null;
  }
}

function readUsage(text: string): UsageReport | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
