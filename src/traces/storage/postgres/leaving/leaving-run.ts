import { parseDottedOrder } from "../../../runs/dotted-order.ts";
import type { QueuedRun } from "../../../runs/flush-plan.ts";
import { isPlaceholder } from "../../../runs/merge-run.ts";
import { payloadFields, type RunChange, type RunFields } from "../../../runs/run-change.ts";
import { countsUsage, type Model, type RunUsage, readModel } from "../../../usage/usage.ts";

/** A run as PostgreSQL has it: times are UTC text, numbers of usage text. */
export type LeavingRun = {
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
  usage: (string | null)[] | null;
  first_token_time: string | null;
  execution_order: number;
  posted: boolean;
  patched: boolean;
  received_at: string;
  error: string | null;
  inputs: string | null;
  outputs: string | null;
  extra: string | null;
  events: string | null;
  serialized: string | null;
};

/**
 * A run as if it were sent again: what another engine has of it by now was sent later, and the rules of merging know what that
 * means. A run that was patched is posted and then patched with nothing, so that its post is not taken for a newer one. One without a
 * post is patched, with what was sent of it.
 */
export function leavingChanges(run: LeavingRun): QueuedRun {
  const { id, workspace_id: workspaceId } = run;
  const payloads: RunChange["payloads"] = {};
  let bytes = 0;
  for (const field of payloadFields) {
    const text = run[field];
    if (text === null) continue;
    const content = Buffer.from(text);
    payloads[field] = content;
    bytes += content.byteLength;
  }
  const common = { workspaceId, id, receivedAt: run.received_at, bytes };
  const sent: RunChange = {
    ...common,
    kind: run.posted ? "post" : "patch",
    ...(!run.posted && { isEarlier: true }),
    projectId: run.project_id,
    fields: run.posted ? fieldsOf(run) : sentFieldsOf(run),
    payloads,
    facts: {
      ...((run.extra !== null || run.metadata !== "{}") && {
        metadata: run.metadata,
        threadId: run.thread_id,
        ...modelOf(run),
      }),
      ...(run.usage && { usage: usageOf(run.usage) }),
      ...(run.first_token_time !== null && { firstTokenTime: run.first_token_time }),
      terms: run.terms,
    },
  };
  const patched: RunChange = {
    ...{ ...common, bytes: 0, kind: "patch", projectId: undefined },
    ...{ fields: {}, payloads: {}, facts: { terms: [] } },
  };
  return { id, workspaceId, bytes, changes: run.posted && run.patched ? [sent, patched] : [sent] };
}

function fieldsOf(run: LeavingRun): RunFields {
  return {
    ...placeOf(run),
    name: run.name,
    run_type: run.run_type,
    start_time: run.start_time,
    ...(run.end_time !== null && { end_time: run.end_time }),
    ...(run.error !== null && { error: run.error }),
    tags: run.tags,
    ...(run.reference_example_id !== null && { reference_example_id: run.reference_example_id }),
    execution_order: run.execution_order,
    trace_tier: run.trace_tier,
  };
}

function sentFieldsOf(run: LeavingRun): RunFields {
  const { name, run_type, execution_order, trace_tier, tags, ...others } = fieldsOf(run);
  return {
    ...others,
    ...(!isPlaceholder(run, "name") && { name: run.name }),
    ...(!isPlaceholder(run, "run_type") && { run_type: run.run_type }),
    ...(!isPlaceholder(run, "execution_order") && { execution_order: run.execution_order }),
    ...(!isPlaceholder(run, "trace_tier") && { trace_tier: run.trace_tier }),
    ...(run.tags.length > 0 && { tags: run.tags }),
  };
}

/** The dotted order, where it has all that is known of the place; it has not if the run came before its parent. */
function placeOf(run: LeavingRun): RunFields {
  const path = parseDottedOrder(run.dotted_order)?.segments;
  const ids = path?.map((segment) => segment.id);
  const known = [...run.parent_run_ids, run.id];
  if (path && ids?.length === known.length && ids.every((id, at) => id === known[at]))
    return { dotted_order: run.dotted_order, path, trace_id: run.trace_id };
  return {
    trace_id: run.trace_id,
    ...(run.parent_run_id !== null && { parent_run_id: run.parent_run_id }),
  };
}

/** For tokens that another engine was told of meanwhile. Those the run has come with their costs. */
function modelOf({ usage, run_type, extra }: LeavingRun): { model?: Model } {
  const model = usage || extra === null || !countsUsage(run_type) ? undefined : readModel(JSON.parse(extra));
  return model ? { model } : {};
}

/** With the costs it has: prices apply to runs as they arrive, and this one has arrived long ago. */
function usageOf(texts: readonly (string | null)[]): RunUsage {
  const count = (index: number) => Number(texts[index] ?? 0);
  const cost = (index: number) => texts[index] ?? null;
  return {
    ...{ promptTokens: count(0), completionTokens: count(1), totalTokens: count(2) },
    ...{ promptCost: cost(3), completionCost: cost(4), totalCost: cost(5) },
    ...{ cacheReadTokens: count(6), cacheWriteTokens: count(7) },
  };
}
