import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Usage } from "../runtimes/runtime.ts";
import { cpuBetween, stepMs, stepOf } from "./metric.ts";
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
export class Meter {
  readonly #options: MeterOptions;
  readonly #counts = new Map<string, Counts>();
  readonly #before = new Map<string, { cpuSeconds: number; atMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  served(deploymentId: string, status: number, ms: number): void {
    let counted = this.#counts.get(deploymentId);
    if (!counted) {
      counted = { requests: 0, errors: 0, busyMs: 0 };
      this.#counts.set(deploymentId, counted);
    }
    counted.requests += 1;
    counted.busyMs += ms;
    if (status >= 500) counted.errors += 1;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.measure(), stepMs);
    this.#timer.unref();
  }

  /** Now, and not only at the next step. */
  measure(): Promise<void> {
    this.#running = this.#measureOnce().catch((error: unknown) =>
      this.#options.logger.warn(
        { reason: errorMessage(error) },
        "the metrics of deployments could not be stored",
      ),
    );
    return this.#running;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    await this.measure();
  }

  async #measureOnce(): Promise<void> {
    const { database, clock, usages } = this.#options;
    const rows = new Map<string, Measured>();
    const rowOf = (deploymentId: string) => {
      let row = rows.get(deploymentId);
      if (!row) {
        row = { deploymentId, cpu: null, memoryBytes: null, requests: 0, errors: 0, busyMs: 0 };
        rows.set(deploymentId, row);
      }
      return row;
    };
    for (const [deploymentId, counted] of this.#counts) Object.assign(rowOf(deploymentId), counted);
    this.#counts.clear();
    const seen = await usages();
    const atMs = performance.now();
    for (const { instanceId, deploymentId, usage } of seen) {
      const row = rowOf(deploymentId);
      const now = { cpuSeconds: usage.cpuSeconds, atMs };
      const cpu = cpuBetween(this.#before.get(instanceId), now);
      this.#before.set(instanceId, now);
      if (cpu !== null) row.cpu = (row.cpu ?? 0) + cpu;
      row.memoryBytes = (row.memoryBytes ?? 0) + usage.memoryBytes;
    }
    const alive = new Set(seen.map(({ instanceId }) => instanceId));
    for (const id of this.#before.keys()) if (!alive.has(id)) this.#before.delete(id);
    await addMeasured(database.sql, stepOf(clock.now()), [...rows.values()]);
  }
}
