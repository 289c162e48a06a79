import type { RunUsage } from "../usage/usage.ts";

/** The fields sent as JSON of their own. */
export const payloadFields = ["inputs", "outputs", "extra", "events", "serialized"] as const;
export type PayloadField = (typeof payloadFields)[number];

/**
 * One post or patch of one run, read and checked. A field that is not there was not sent; null was sent as
 * null. Times are UTC text with microseconds.
 */
export type RunChange = {
  kind: "post" | "patch";
  workspaceId: string;
  id: string;
  projectId: string | undefined;
  /** The one project its sender may write to: of a run that stands in another, the change is refused. */
  onlyProjectId?: string;
  receivedAt: string;
  /** A patch that was stored elsewhere before anything that is stored of its run here. */
  isEarlier?: boolean;
  fields: RunFields;
  /** JSON as the client sent it. */
  payloads: Partial<Record<PayloadField, Buffer | null>>;
  facts: RunFacts;
  bytes: number;
};

export type RunFields = {
  dotted_order?: string;
  /** From the root down to the run itself; only with a dotted order. */
  path?: { id: string; time: string }[];
  trace_id?: string;
  parent_run_id?: string | null;
  name?: string;
  run_type?: string;
  start_time?: string;
  end_time?: string | null;
  error?: string | null;
  tags?: string[];
  reference_example_id?: string | null;
  execution_order?: number;
  trace_tier?: string;
};

/** What is worked out from the payloads of one change. */
export type RunFacts = {
  /** JSON text; present when `extra` was sent. */
  metadata?: string;
  threadId?: string | null;
  model?: { provider: string | null; name: string };
  usage?: RunUsage;
  firstTokenTime?: string;
  terms: number[];
};
