import type { UsageSum } from "../usage/usage-sum.ts";
import type { UsageVector } from "../usage/usage-vector.ts";
import type { RunStatus } from "./run.ts";
import type { PayloadField } from "./run-change.ts";

/** A stored run without its large payloads. */
export type StoredRun = {
  id: string;
  workspace_id: string;
  project_id: string;
  trace_id: string;
  parent_run_id: string | null;
  parent_run_ids: string[];
  reference_example_id: string | null;
  name: string;
  run_type: string;
  start_time: string;
  end_time: string | null;
  dotted_order: string;
  trace_tier: string;
  thread_id: string | null;
  tags: string[];
  metadata: string;
  terms: number[];
  usage: UsageVector | null;
  first_token_time: string | null;
  execution_order: number;
  posted: boolean;
  patched: boolean;
  /** Of a store that does not read it for this: an empty text where there is one. */
  error: string | null;
  extra: string | null;
  present: PayloadField[];
};

/** What is written: the run's own fields whole, payloads only where they change. */
export type MergedRun = StoredRun & {
  status: RunStatus;
  is_root: boolean;
  /** Where the row stands now; null for a new one. */
  storedStart: string | null;
  payloads: Partial<Record<PayloadField, Buffer>>;
  /** The error as it was sent, null where it was taken back; undefined while what is stored of it stands. */
  sentError: string | null | undefined;
  /** Times of the ancestors by id, where the dotted order has them. */
  path: { id: string; time: string }[];
  stored: Pick<StoredRun, "usage" | "run_type" | "parent_run_id"> | null;
  /** From runs below it; null while what is stored of it stands. */
  below: UsageSum | null;
};

export type RunKey = { id: string; workspaceId: string };
/** `claim`: when the run begins, if it is new. */
export type RunSearch = RunKey & { claim?: string };

export type FoundRun = {
  id: string;
  workspace_id: string;
  /** Where the id was stored before this search; there may be no run any more, or not yet. */
  stands_at: string | null;
  run: StoredRun | null;
  /** Of a run that is kept elsewhere, from where it will come. */
  project_elsewhere?: string | undefined;
  /** JSON, oldest first. */
  patches: string[] | null;
  last_seq: number | null;
  has_usage: boolean;
};
