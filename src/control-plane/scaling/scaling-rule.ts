import type { Scale } from "../runtimes/runtime.ts";

/** What one replica uses now; null where it is not known. */
export type ReplicaLoad = { name: string; cpus: number | null; memory: MemoryLoad | null };

/** `baseBytes`: what it needs with nothing to do, which more replicas do not make less. */
export type MemoryLoad = { usedBytes: number; baseBytes: number };

export type Load = {
  /** Those that take requests. */
  replicas: readonly ReplicaLoad[];
  /** Runs that could begin at once if somebody had time for them; null where it is not known. */
  pendingRuns: number | null;
  /** What one replica may use at most; null for no limit, which nothing can be a part of. */
  limits: { cpus: number | null; memoryBytes: number | null };
};

/** A number of replicas that was needed at some moment, by a clock that only goes forward. */
export type Need = { atMs: number; replicas: number };

/** Above this part of a limit there are too few replicas. */
const usedPart = 0.75;
const pendingRunsPerReplica = 10;

/** How many replicas the load needs: by processor time, by memory or by runs that wait, whichever are most. */
export function neededReplicas({ replicas, pendingRuns, limits }: Load, current: number): number {
  const isKnown =
    pendingRuns !== null && replicas.every(({ cpus, memory }) => cpus !== null && memory !== null);
  const sumOf = (part: (one: ReplicaLoad) => number) => replicas.reduce((sum, one) => sum + part(one), 0);
  const { cpus: mostCpus, memoryBytes: mostBytes } = limits;
  return Math.max(
    1,
    mostCpus === null ? 0 : Math.ceil(sumOf(({ cpus }) => cpus ?? 0) / (mostCpus * usedPart)),
    mostBytes === null ? 0 : Math.ceil(sumOf(({ memory }) => memoryPart(memory, mostBytes * usedPart))),
    Math.ceil((pendingRuns ?? 0) / pendingRunsPerReplica),
    // What is not known may be busy: nothing is taken away.
    isKnown ? 0 : current,
  );
}

/** How much it has taken of what it may take for its load; nothing where there is no room for a load. */
function memoryPart(memory: MemoryLoad | null, mostBytes: number): number {
  if (!memory || memory.baseBytes >= mostBytes) return 0;
  return (memory.usedBytes - memory.baseBytes) / (mostBytes - memory.baseBytes);
}

/** Those that still count: what is needed no more is kept for a while. */
export function recentNeeds(needs: readonly Need[], nowMs: number, keepMs: number): Need[] {
  return needs.filter(({ atMs }) => nowMs - atMs <= keepMs);
}

/** Up at once, down to the most that was needed of late, always between the bounds. */
export function chooseReplicas(needs: readonly Need[], { min, max }: Pick<Scale, "min" | "max">): number {
  return Math.min(max, Math.max(min, ...needs.map(({ replicas }) => replicas)));
}
