import type * as wire from "../../api/wire.ts";

export type { FilterFault, SeenFilterValues as SeenValues, Trace } from "../../api/wire.ts";
export type Project = wire.TraceProject;
export type ProjectStats = wire.TraceProjectStats;
export type Stats = ProjectStats["total"];

type Payload = "inputs" | "outputs" | "extra" | "events" | "serialized" | "s3_urls";
/** A run without its payloads, as lists and trees draw it. Lists do not ask for its place in the tree. */
export type Run = Omit<wire.TraceRun, Payload | "dotted_order"> &
  Partial<Pick<wire.TraceRun, "dotted_order">>;

/** What clients sent is theirs; these are the parts that the pages look into. */
export type FullRun = Omit<wire.TraceRun, "extra"> & {
  extra?: { metadata?: Record<string, unknown>; runtime?: Record<string, unknown> } | null;
};
export type Feedback = wire.Feedback & { feedback_source?: { type?: string } | null };
