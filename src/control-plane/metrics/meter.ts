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
  /** Resource use of the servers this process manages, of each replica by a key of its own. */
  usages(): Promise<{ key: string; deploymentId: string; usage: Usage }[]>;
};

type Counts = { requests: number; probes: number; errors: number; busyMs: number };

/** Counts requests and samples resource use every few seconds. A gap in the figures does no harm. */
export class Meter {
  readonly #options: MeterOptions;
  readonly #counts = new Map<string, Counts>();
  readonly #before = new Map<string, { cpuSeconds: number; atMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  /** `isProbe`: it only asked whether the server answers. */
  served(deploymentId: string, status: number, ms: number, isProbe = false): void {
    let counted = this.#counts.get(deploymentId);
    if (!counted) {
      counted = { requests: 0, probes: 0, errors: 0, busyMs: 0 };
      this.#counts.set(deploymentId, counted);
    }
    counted.requests += 1;
    if (isProbe) counted.probes += 1;
    counted.busyMs += ms;
    if (status >= 500) counted.errors += 1;
  }

  /** Whether it was used since the last step, through this process. */
  isUsed(deploymentId: string): boolean {
    const counted = this.#counts.get(deploymentId);
    return counted !== undefined && counted.requests > counted.probes;
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
        row = { deploymentId, cpu: null, memoryBytes: null, requests: 0, probes: 0, errors: 0, busyMs: 0 };
        rows.set(deploymentId, row);
      }
      return row;
    };
    for (const [deploymentId, counted] of this.#counts) Object.assign(rowOf(deploymentId), counted);
    this.#counts.clear();
    const seen = await usages();
    const atMs = performance.now();
    for (const { key, deploymentId, usage } of seen) {
      const row = rowOf(deploymentId);
      const now = { cpuSeconds: usage.cpuSeconds, atMs };
      const cpu = cpuBetween(this.#before.get(key), now);
      this.#before.set(key, now);
      if (cpu !== null) row.cpu = (row.cpu ?? 0) + cpu;
      row.memoryBytes = (row.memoryBytes ?? 0) + usage.memoryBytes;
    }
    const alive = new Set(seen.map(({ key }) => key));
    for (const id of this.#before.keys()) if (!alive.has(id)) this.#before.delete(id);
    await addMeasured(database.sql, stepOf(clock.now()), [...rows.values()]);
  }
}
