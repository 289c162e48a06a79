export const instanceStates = ["starting", "ready", "draining", "stopping", "exited"] as const;
export type InstanceState = (typeof instanceStates)[number];

export type Announced = { graphs: string[]; broken: Record<string, string> };

export type Instance = {
  id: string;
  deployment_id: string;
  revision_id: string;
  runtime: string;
  state: InstanceState;
  attempt: number;
  port: number;
  handle: Record<string, unknown> | null;
  log_path: string;
  log_offset: number;
  database_hash: string;
  tracing_key_id: string | null;
  secret_sealed: string | null;
  announced: Announced | null;
  started_at: Date;
  ready_at: Date | null;
  drain_since: Date | null;
  stop_since: Date | null;
  exited_at: Date | null;
  exit_reason: string | null;
};

/** Ends we asked for; a server that ended so did nothing wrong. */
export const stoppedByUs = "stopped";
/** From this start on, a server that keeps dying is in a loop. */
export const crashLoopAttempts = 5;
/** Ends that another port would have prevented. */
export const portTaken = "its port was taken by another process";

/** An end that a larger limit, or a smaller appetite, would have prevented. */
export function outOfMemory(limitBytes: number | null): string {
  const limit =
    limitBytes === null
      ? "the machine had no more"
      : `its limit is ${Math.round(limitBytes / 1024 / 1024)} MB`;
  return `out of memory: ${limit}. Give the deployment more with resource_spec.memory_limit_mb, or let it hold less`;
}
