import { created, type ForeignCall, type ForeignCalls, json, lookUp } from "./foreign-call.ts";
import type { TenantIds } from "./tenant-resources.ts";

const queues = "/api/v1/annotation-queues";
const items = "/api/v1/platform/annotation-queues/{queue_id}/items";
const added_at = "2026-10-05T10:00:00.000000Z";
const completed = json(() => ({ status: "completed" }));
const byKey = (ids: TenantIds) => ({
  run_id: ids.traceRunId,
  session_id: ids.projectId,
  source_proposed_example_id: ids.exampleId,
});
/** Ids of runs or items that are not in the queue take nothing out of it. */
const takesOut = (body: (ids: TenantIds) => unknown, turn: number): ForeignCall => ({
  ...json(body),
  free: ["traceRunId", "queueItemId"],
  turn,
});

/** Queues of runs that people look at. */
export const annotationCalls: ForeignCalls = {
  [`POST ${queues}`]: created((ids) => ({
    id: ids.queueId,
    name: "other",
    session_ids: [ids.projectId],
    default_dataset: ids.datasetId,
  })),
  [`GET ${queues}`]: lookUp((ids) => ({ ids: ids.queueId, dataset_id: ids.datasetId })),
  [`PATCH ${queues}/{queue_id}`]: json((ids) => ({
    description: "other",
    default_dataset: ids.datasetId,
  })),
  [`DELETE ${queues}/{queue_id}`]: { turn: 8 },
  [`POST ${queues}/populate`]: json((ids) => ({ queue_id: ids.queueId, session_ids: [ids.projectId] })),
  // The path names a run here.
  [`GET ${queues}/{queue_id}/queues`]: {
    send: (ids) => ({ params: { queue_id: ids.traceRunId } }),
    outcome: "finds nothing",
  },
  [`POST ${queues}/{queue_id}/runs`]: {
    ...json((ids) => [byKey(ids)]),
    // A note of where the proposal came from; nothing follows it.
    free: ["exampleId"],
  },
  [`POST ${queues}/{queue_id}/runs/by-key`]: {
    ...json((ids) => [byKey(ids)]),
    free: ["exampleId"],
  },
  [`GET ${queues}/{queue_id}/run/{index}`]: { send: () => ({ params: { index: "0" } }) },
  [`PATCH ${queues}/{queue_id}/runs/{queue_run_id}`]: json(() => ({ added_at })),
  [`DELETE ${queues}/{queue_id}/runs/{queue_run_id}`]: { turn: 5 },
  [`POST ${queues}/{queue_id}/runs/delete`]: {
    ...takesOut((ids) => ({ run_ids: [ids.traceRunId] }), 6),
    without: { exclude_run_ids: "goes with delete_all, which names no run" },
  },
  [`POST ${queues}/{queue_id}/export`]: json(() => ({})),
  [`POST ${items}`]: {
    ...json((ids) => ({
      items: [
        { run_id: ids.traceRunId, source_proposed_example_id: ids.exampleId },
        { thread_id: ids.traceThreadId, project_id: ids.projectId, session_id: ids.projectId },
      ],
    })),
    free: ["exampleId", "traceThreadId"],
  },
  [`GET ${items}`]: { send: () => ({ query: { status: "needs_my_review" } }) },
  [`GET ${items}/count`]: { send: () => ({ query: { status: "all" } }) },
  [`PATCH ${items}/{item_id}`]: json(() => ({ added_at })),
  [`POST ${items}/delete`]: takesOut((ids) => ({ item_ids: [ids.queueItemId] }), 7),
  "POST /api/v1/platform/annotation-queues/items/{item_id}/status": completed,
  [`POST ${queues}/status/{item_id}`]: completed,
};
