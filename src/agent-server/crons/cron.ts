import type { Caller } from "../../platform/http/access/caller.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { type RunCreateBody, toRunRequest } from "../runs/run-schemas.ts";

export type OnRunCompleted = "delete" | "keep";

/** Without what holds for one request only. */
export type CronCaller = Omit<Caller, "rowFilter">;

export function toCronCaller({ rowFilter: _rowFilter, ...caller }: Caller): CronCaller {
  return caller;
}

/** A schedule that starts runs: on its thread, or each on a thread of its own. */
export type Cron = {
  cron_id: string;
  workspace_id: string;
  assistant_id: string;
  thread_id: string | null;
  user_id: string | null;
  /** Who made it: its runs are that caller's. Null where that was not kept. */
  caller: CronCaller | null;
  schedule: string;
  timezone: string | null;
  end_time: Date | null;
  on_run_completed: OnRunCompleted;
  enabled: boolean;
  payload: CronPayload;
  metadata: Record<string, unknown>;
  next_run_date: Date | null;
  created_at: Date;
  updated_at: Date;
};

/** The body of the runs. */
export const payloadFields = [
  "input",
  "metadata",
  "config",
  "context",
  "webhook",
  "interrupt_before",
  "interrupt_after",
  "multitask_strategy",
  "stream_mode",
  "stream_subgraphs",
  "stream_resumable",
  "durability",
  "checkpoint_during",
] as const;
export type PayloadField = (typeof payloadFields)[number];
export type CronPayload = { assistant_id: string } & Partial<Pick<RunCreateBody, PayloadField>>;

/** The body's fields about the runs, without those left out. */
export function payloadPart(body: Record<string, unknown>): Partial<CronPayload> {
  return Object.fromEntries(
    payloadFields.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])),
  );
}

/** A due time that was taken; its run is started once. */
export type Firing = { firing_id: string; due_at: Date; attempts: number; cron: Cron };

/** The thread of a firing is known before its run is, so that one can be found by the other after a crash. */
export function threadOf(firing: Firing): string {
  return firing.cron.thread_id ?? firing.firing_id;
}

/** The run belongs to the given caller; without one it has no owner. */
export function toFiredRequest({ cron, firing_id }: Firing, caller: CronCaller | null): RunRequest {
  const ownThread = cron.thread_id === null;
  return {
    ...toRunRequest(cron.payload, ownThread ? "own" : "given"),
    metadata: { ...cron.payload.metadata, cron_id: cron.cron_id, cron_firing_id: firing_id },
    if_not_exists: ownThread ? "create" : "reject",
    temporary: ownThread && cron.on_run_completed === "delete",
    ...(caller ? { caller } : {}),
    ...(ownThread ? { threadMetadata: { ...cron.metadata, cron_id: cron.cron_id } } : {}),
  };
}

export const cronSortFields = [
  "cron_id",
  "assistant_id",
  "thread_id",
  "next_run_date",
  "end_time",
  "created_at",
  "updated_at",
] as const;
export type CronSortField = (typeof cronSortFields)[number];
