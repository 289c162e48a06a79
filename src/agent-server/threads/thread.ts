import { AppError } from "../../platform/errors.ts";

export const threadStatuses = ["idle", "busy", "interrupted", "error"] as const;
export type ThreadStatus = (typeof threadStatuses)[number];

export const ttlStrategies = ["delete", "keep_latest"] as const;
export type TtlStrategy = (typeof ttlStrategies)[number];

export type ThreadTtl = { minutes: number; strategy: TtlStrategy };

/** A thread as its row has it. */
export type ThreadRow = {
  thread_id: string;
  status: ThreadStatus;
  metadata: Record<string, unknown>;
  config: Record<string, unknown>;
  values_json: string | null;
  interrupts_json: string;
  error_json: string | null;
  ttl_minutes: number | null;
  ttl_strategy: TtlStrategy | null;
  expires_at: Date | null;
  created_at: Date;
  updated_at: Date;
  state_updated_at: Date;
};

export const threadFields = [
  "thread_id",
  "created_at",
  "updated_at",
  "state_updated_at",
  "metadata",
  "status",
  "config",
  "values",
  "interrupts",
  "error",
] as const;
export type ThreadField = (typeof threadFields)[number];

export type ThreadView = {
  thread_id: string;
  created_at: string;
  updated_at: string;
  state_updated_at: string;
  metadata: Record<string, unknown>;
  status: ThreadStatus;
  config: Record<string, unknown>;
  values: unknown;
  interrupts: Record<string, unknown>;
  error: unknown;
  ttl?: { strategy: TtlStrategy; ttl_minutes: number; expires_at: string | null } | null;
  extracted?: Record<string, unknown>;
};

export function toThreadView(row: ThreadRow, options: { ttl?: boolean } = {}): ThreadView {
  return {
    thread_id: row.thread_id,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    state_updated_at: row.state_updated_at.toISOString(),
    metadata: row.metadata,
    status: row.status,
    config: row.config,
    values: row.values_json === null ? null : JSON.parse(row.values_json),
    interrupts: JSON.parse(row.interrupts_json),
    error: row.error_json === null ? null : JSON.parse(row.error_json),
    ...(options.ttl ? { ttl: ttlView(row) } : {}),
  };
}

function ttlView(row: ThreadRow): ThreadView["ttl"] {
  if (row.ttl_minutes === null) return null;
  return {
    strategy: row.ttl_strategy ?? "delete",
    ttl_minutes: row.ttl_minutes,
    expires_at: row.expires_at?.toISOString() ?? null,
  };
}

/** `values.messages[0].content`, `values.messages[-1]`, `metadata.owner`: what a path finds, or null. */
export function extractPath(view: ThreadView, path: string): unknown {
  let current: unknown = view;
  for (const part of path.split(/\.|(?=\[)/)) {
    if (current === null || typeof current !== "object") return null;
    const index = /^\[(-?\d+)\]$/.exec(part);
    if (index) current = Array.isArray(current) ? (current.at(Number(index[1])) ?? null) : null;
    else current = Object.hasOwn(current, part) ? (current as Record<string, unknown>)[part] : null;
  }
  return current ?? null;
}

export function threadNotFound(id: string): AppError {
  return new AppError({
    code: "thread.not_found",
    kind: "not_found",
    message: `Thread with ID ${id} not found`,
  });
}
