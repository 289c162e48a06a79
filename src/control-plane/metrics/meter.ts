import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { cpuBetween, stepMs, stepOf, type Usage } from "./metric.ts";
import { addMeasured, type Measured } from "./metric-store.ts";

export type MeterOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** What the servers this process looks after use. */
  usages(): Promise<{ instanceId: string; deploymentId: string; usage: Usage }[]>;
};

type Counts = { requests: number; errors: number; busyMs: number };

/** Counts what passes and looks at what is used, every few seconds. A gap in it harms nobody. */
export function createMeter({ database, clock, logger, usages }: MeterOptions) {
  const counts = new Map<string, Counts>();
  const before = new Map<string, { cpuSeconds: number; atMs: number }>();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  async function measure(): Promise<void> {
    const rows = new Map<string, Measured>();
    const rowOf = (deploymentId: string) => {
      let row = rows.get(deploymentId);
      if (!row) {
        row = { deploymentId, cpu: null, memoryBytes: null, requests: 0, errors: 0, busyMs: 0 };
        rows.set(deploymentId, row);
      }
      return row;
    };
    for (const [deploymentId, counted] of counts) Object.assign(rowOf(deploymentId), counted);
    counts.clear();
    const seen = await usages();
    const atMs = performance.now();
    for (const { instanceId, deploymentId, usage } of seen) {
      const row = rowOf(deploymentId);
      const cpu = cpuBetween(before.get(instanceId), { cpuSeconds: usage.cpuSeconds, atMs });
      before.set(instanceId, { cpuSeconds: usage.cpuSeconds, atMs });
      if (cpu !== null) row.cpu = (row.cpu ?? 0) + cpu;
      row.memoryBytes = (row.memoryBytes ?? 0) + usage.memoryBytes;
    }
    const alive = new Set(seen.map(({ instanceId }) => instanceId));
    for (const id of before.keys()) if (!alive.has(id)) before.delete(id);
    await addMeasured(database.sql, stepOf(clock.now()), [...rows.values()]);
  }

  const tick = () => {
    running = measure().catch((error: unknown) =>
      logger.warn({ reason: errorMessage(error) }, "what deployments use could not be written down"),
    );
    return running;
  };

  return {
    served(deploymentId: string, status: number, ms: number): void {
      let counted = counts.get(deploymentId);
      if (!counted) {
        counted = { requests: 0, errors: 0, busyMs: 0 };
        counts.set(deploymentId, counted);
      }
      counted.requests += 1;
      counted.busyMs += ms;
      if (status >= 500) counted.errors += 1;
    },
    start(): void {
      timer ??= setInterval(() => void tick(), stepMs);
      timer.unref();
    },
    /** Now, and not only at the next step. */
    measure: tick,
    async stop(): Promise<void> {
      clearInterval(timer);
      await running;
      await tick();
    },
  };
}

export type Meter = ReturnType<typeof createMeter>;
