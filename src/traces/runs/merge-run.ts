import type { PriceOf } from "../usage/model-prices.ts";
import { countsUsage, type Model, type RunUsage, readModel, withCosts } from "../usage/usage.ts";
import { noSum } from "../usage/usage-sum.ts";
import { type UsageVector, unpricedUsage, usageVector } from "../usage/usage-vector.ts";
import { dottedSegment } from "./dotted-order.ts";
import { mergeExtra, mergeMetadata } from "./merge-extra.ts";
import { statusOf } from "./run.ts";
import { type PayloadField, payloadFields, type RunChange, type RunFields } from "./run-change.ts";
import type { MergedRun, StoredRun } from "./stored-run.ts";

export type MergeContext = {
  /** The dotted orders of parents, for runs that were sent without one. */
  parentOrder(parentId: string): string | undefined;
  priceOf: PriceOf;
};

/** What a run has that was patched before anybody said otherwise. */
const placeholders = { name: "run", run_type: "chain", execution_order: 1, trace_tier: "longlived" };
type Placeholder = keyof typeof placeholders;

export function isPlaceholder(run: Pick<StoredRun, Placeholder>, field: Placeholder): boolean {
  return run[field] === placeholders[field] || (field === "name" && run.name === run.run_type);
}

/**
 * A run after its changes, in order. A patch's fields win, its nulls included; only `extra` is merged. A post after a
 * patch fills what is still open: it was sent before the patch, even if it arrived later. So does an earlier patch. A post of a run that began
 * earlier is another attempt at it, after a crash: start, place and inputs stay those of the first.
 */
export function mergeRun(
  stored: StoredRun | null,
  changes: readonly RunChange[],
  context: MergeContext,
): MergedRun {
  const run = stored ? { ...stored } : newRun(changes[0]!, changes);
  const payloads: MergedRun["payloads"] = {};
  const present = new Set<PayloadField>(stored?.present);
  let sentError: string | null | undefined;
  let usage: RunUsage | undefined;
  let sentModel: Model | undefined;
  let extras = 0;
  const terms = new Set(run.terms);
  const resumes = new Set<RunChange>();
  for (const change of changes) {
    const fillOnly = run.patched && (change.kind === "post" || change.isEarlier === true);
    const { facts } = change;
    // A post that came after an earlier patch has named the run.
    const fields = change.isEarlier && run.posted ? withoutNames(change.fields) : change.fields;
    const takes = <Value>(sent: Value | undefined, current: unknown): sent is Value =>
      sent !== undefined && !(sent === null && change.kind === "post") && !(fillOnly && current !== null);
    const take = <Value>(sent: Value | null | undefined, current: Value | null): Value | null =>
      takes(sent, current) ? sent : current;
    const makes = change.kind === "post" && !run.posted;
    // Until its post a run's name and type may be placeholders.
    const isOpen = (field: Placeholder) => makes || (fillOnly && !run.posted && isPlaceholder(run, field));
    if (makes && change.projectId !== undefined) run.project_id = change.projectId;
    run.name = (isOpen("name") ? fields.name : take(fields.name, run.name || null)) ?? run.name;
    run.run_type =
      (isOpen("run_type") ? fields.run_type : take(fields.run_type, run.run_type || null)) ?? run.run_type;
    const resumed = isResumed(run, change);
    if (resumed) resumes.add(change);
    // The end of the attempt before is not the run's.
    if (resumed && run.end_time !== null && run.end_time <= fields.start_time!)
      run.end_time = run.error = sentError = null;
    run.start_time =
      change.kind === "post" && !resumed ? (fields.start_time ?? run.start_time) : run.start_time;
    run.end_time = take(fields.end_time, run.end_time);
    if (takes(fields.error, run.error)) run.error = sentError = fields.error;
    run.reference_example_id = take(fields.reference_example_id, run.reference_example_id);
    if (fields.tags && !(fillOnly && run.tags.length > 0)) run.tags = fields.tags;
    const isSet = (field: Placeholder) => fillOnly && change.isEarlier && !isPlaceholder(run, field);
    if (fields.execution_order !== undefined && !isSet("execution_order"))
      run.execution_order = fields.execution_order;
    if (fields.trace_tier !== undefined && !isSet("trace_tier")) run.trace_tier = fields.trace_tier;
    for (const field of payloadFields) {
      const content = change.payloads[field];
      if (content === undefined || (content === null && change.kind === "post")) continue;
      // A new `extra` adds to the stored one; it removes nothing.
      if (field === "extra" && present.has(field)) {
        if (content === null) continue;
        const known = payloads.extra ?? Buffer.from(stored?.extra ?? "null");
        payloads.extra = fillOnly ? mergeExtra(content, known) : mergeExtra(known, content);
        continue;
      }
      if ((fillOnly || (resumed && field === "inputs")) && present.has(field)) continue;
      payloads[field] = content ?? jsonNull;
      present.add(field);
    }
    if (facts.metadata !== undefined) {
      const [earlier, later] = fillOnly ? [facts.metadata, run.metadata] : [run.metadata, facts.metadata];
      run.metadata = mergeMetadata(earlier, later);
      run.thread_id = (fillOnly ? run.thread_id : null) ?? facts.threadId ?? run.thread_id;
      sentModel = facts.model;
      extras += 1;
    }
    if (facts.usage && !(fillOnly && (usage ?? run.usage))) usage = facts.usage;
    run.first_token_time ??= facts.firstTokenTime ?? null;
    for (const term of facts.terms) terms.add(term);
    if (change.kind === "post") run.posted = true;
    else run.patched = true;
  }
  run.terms = [...terms];
  const placing =
    stored || resumes.size < changes.length
      ? changes.filter((each) => !resumes.has(each) && !isPlacedSince(stored, each))
      : changes;
  const place = placeOf(run, stored, placing, context);
  const model = () => {
    if (extras === 1 && !stored?.extra) return sentModel;
    const extra = payloads.extra ?? stored?.extra;
    return extra ? readModel(JSON.parse(extra.toString())) : undefined;
  };
  const spent = spentBy(usage, run.usage, extras > 0, model, context.priceOf);
  const own = run.posted && !countsUsage(run.run_type) ? null : spent;
  return {
    ...run,
    ...place,
    name: run.name || run.run_type || placeholders.name,
    run_type: run.run_type || placeholders.run_type,
    status: statusOf(run),
    is_root: place.parent_run_id === null,
    storedStart: stored?.start_time ?? null,
    payloads,
    sentError,
    usage: own,
    stored,
    below: stored ? null : noSum,
  };
}

function isResumed(run: StoredRun, { kind, fields }: RunChange): boolean {
  return kind === "post" && run.posted && fields.start_time != null && fields.start_time > run.start_time;
}

function withoutNames({ name: _, run_type: __, ...others }: RunFields): RunFields {
  return others;
}

/** An earlier change places a run only below a parent that nobody named since. */
function isPlacedSince(stored: StoredRun | null, { isEarlier, fields }: RunChange): boolean {
  if (!isEarlier || !stored) return false;
  const namesParent = fields.parent_run_id != null || (fields.path?.length ?? 0) > 1;
  return stored.parent_run_id !== null || !namesParent;
}

/** Costs that were not sent follow from the model the run names now, no matter when it was named. */
function spentBy(
  sent: RunUsage | undefined,
  stored: UsageVector | null,
  extraChanged: boolean,
  model: () => Model | undefined,
  priceOf: PriceOf,
): UsageVector | null {
  const isStated = sent !== undefined && sent.totalCost !== null;
  if (isStated) return usageVector(sent, true);
  const unpriced = sent ?? (extraChanged && stored ? unpricedUsage(stored) : undefined);
  return unpriced ? usageVector(withCosts(unpriced, model(), priceOf), false) : stored;
}

const jsonNull = Buffer.from("null");

/** The start time of a run that is not stored yet; undefined when no change has it. */
export function startOf(changes: readonly RunChange[]): string | undefined {
  const post = changes.find((change) => change.kind === "post");
  return (
    post?.fields.start_time ??
    changes.find((change) => change.fields.path)?.fields.path?.at(-1)?.time ??
    changes.find((change) => change.fields.start_time)?.fields.start_time ??
    post?.receivedAt
  );
}

function newRun(first: RunChange, changes: readonly RunChange[]): StoredRun {
  const start = startOf(changes);
  const projectId = changes.find((change) => change.projectId)?.projectId;
  if (start === undefined || projectId === undefined)
    throw new Error("A run without time or project must be parked.");
  return {
    id: first.id,
    workspace_id: first.workspaceId,
    project_id: projectId,
    trace_id: first.id,
    parent_run_id: null,
    parent_run_ids: [],
    reference_example_id: null,
    name: "",
    run_type: "",
    start_time: start,
    end_time: null,
    dotted_order: "",
    trace_tier: "longlived",
    thread_id: null,
    tags: [],
    metadata: "{}",
    terms: [],
    usage: null,
    first_token_time: null,
    execution_order: 1,
    posted: false,
    patched: false,
    error: null,
    extra: null,
    present: [],
  };
}

type Place = Pick<MergedRun, "trace_id" | "parent_run_id" | "parent_run_ids" | "dotted_order" | "path">;

/** Where the run stands in its trace: from its dotted order, else from its parent's. */
function placeOf(
  run: StoredRun,
  stored: StoredRun | null,
  changes: readonly RunChange[],
  context: MergeContext,
): Place {
  const order = changes.findLast((change) => change.fields.path)?.fields;
  if (order?.path) {
    return {
      trace_id: order.path[0]!.id,
      parent_run_id: order.path.at(-2)?.id ?? null,
      parent_run_ids: order.path.slice(0, -1).map((segment) => segment.id),
      dotted_order: order.dotted_order!,
      path: order.path.slice(0, -1),
    };
  }
  const parent = changes.find((change) => change.fields.parent_run_id)?.fields.parent_run_id ?? null;
  // A patch that came before its post may not have known the parent.
  if (stored && (parent === null || stored.parent_run_id !== null)) {
    const { trace_id, parent_run_id, parent_run_ids, dotted_order } = stored;
    return { trace_id, parent_run_id, parent_run_ids, dotted_order, path: [] };
  }
  const trace = changes.find((change) => change.fields.trace_id)?.fields.trace_id;
  const own = dottedSegment(run.start_time, run.id);
  const above = parent === null ? undefined : context.parentOrder(parent);
  const ancestors =
    above === undefined ? (parent === null ? [] : [parent]) : above.split(".").map((part) => part.slice(-36));
  return {
    trace_id: (above === undefined ? trace : ancestors[0]) ?? ancestors[0] ?? run.id,
    parent_run_id: parent,
    parent_run_ids: ancestors,
    dotted_order: above === undefined ? own : `${above}.${own}`,
    path: [],
  };
}
