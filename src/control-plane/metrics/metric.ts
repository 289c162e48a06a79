export const stepMs = 10_000;

/** The step a moment belongs to; all processes of the platform add to the same ones. */
export function stepOf(now: Date): Date {
  return new Date(Math.floor(now.getTime() / stepMs) * stepMs);
}

/** Processors used between two samples; null when there is no earlier sample, or the counter was reset. */
export function cpuBetween(
  before: { cpuSeconds: number; atMs: number } | undefined,
  now: { cpuSeconds: number; atMs: number },
): number | null {
  if (!before || now.atMs <= before.atMs || now.cpuSeconds < before.cpuSeconds) return null;
  return ((now.cpuSeconds - before.cpuSeconds) * 1000) / (now.atMs - before.atMs);
}

export type MetricPoint = {
  at: Date;
  cpu: number | null;
  memory_bytes: number | null;
  requests: number;
  errors: number;
  mean_ms: number | null;
};
