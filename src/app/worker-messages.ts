import type { MetricFigures } from "../platform/metrics.ts";
import type { WorkerPlace } from "./worker-config.ts";

/** What a server tells a worker process of its own, through a pipe that nobody else can read. */
export type ToWorker =
  | {
      kind: "settings";
      number: number;
      environment: Record<string, string>;
      output: { json?: boolean; color?: boolean };
    }
  | { kind: "begin"; place: WorkerPlace }
  | { kind: "metrics"; id: number };

/** What it answers. */
export type FromWorker =
  /** `processId`: under which it leases runs. */
  | { kind: "ready"; processId: string }
  | { kind: "metrics"; id: number; figures: MetricFigures }
  | { kind: "stopped"; interrupted: string[] };
