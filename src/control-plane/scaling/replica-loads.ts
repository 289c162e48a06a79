import { cpuBetween } from "../metrics/metric.ts";
import type { UsageReport } from "../runtimes/usage-report.ts";
import type { ReplicaLoad } from "./scaling-rule.ts";

/** What a replica said, and when; null where it said nothing. */
export type Heard = { report: UsageReport; atMs: number } | null;

type Sample = { cpuSeconds: number; atMs: number; cpus: number | null };

/** Over less time than this, what was used between two reports says little. */
const shortestMs = 2_000;

/** The replicas of one server that are ready: processor time is what was used between two reports. */
export class ReplicaLoads {
  #samples = new Map<string, Sample>();
  /** The least memory that each has reported since it is ready. */
  #bases = new Map<string, number>();

  read(heard: ReadonlyMap<string, Heard>): ReplicaLoad[] {
    const samples = new Map<string, Sample>();
    const loads = [...heard].map(([name, said]) => {
      if (!said) return { name, cpus: null, memory: null };
      const sample = nextSample(this.#samples.get(name), said.report.cpuSeconds, said.atMs);
      samples.set(name, sample);
      const { memoryBytes: usedBytes } = said.report;
      const baseBytes = Math.min(usedBytes, this.#bases.get(name) ?? usedBytes);
      this.#bases.set(name, baseBytes);
      return { name, cpus: sample.cpus, memory: { usedBytes, baseBytes } };
    });
    this.#samples = samples;
    for (const name of this.#bases.keys()) if (!heard.has(name)) this.#bases.delete(name);
    return loads;
  }
}

/** Too soon after the one before, that one stays, with what it says. */
function nextSample(before: Sample | undefined, cpuSeconds: number, atMs: number): Sample {
  const isReset = before !== undefined && cpuSeconds < before.cpuSeconds;
  if (before && !isReset && atMs - before.atMs < shortestMs) return before;
  return { cpuSeconds, atMs, cpus: cpuBetween(before, { cpuSeconds, atMs }) };
}
