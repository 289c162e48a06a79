import type { ExitColumns } from "./exit.ts";

export const instanceStates = ["starting", "ready", "draining", "stopping", "exited"] as const;
export type InstanceState = (typeof instanceStates)[number];
export const liveStates = ["starting", "ready", "draining", "stopping"] as const satisfies InstanceState[];

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
  /** What gateways have to have heard of before it is stopped. */
  drain_epoch: number | null;
  stop_since: Date | null;
  exited_at: Date | null;
} & ExitColumns;

/** From this start on, a server that keeps dying is in a loop. */
export const crashLoopAttempts = 5;
/** Of one server at once, threads among them. An agent needs a few dozen; a bomb takes what there is. */
export const maxProcesses = 512;
