import {
  findAssistantsByName,
  findRunsById,
  findThreads,
} from "../agent-server/threads/thread-finder-store.ts";
import { findAlerts } from "../alerts/alert-finder-store.ts";
import type { Finder } from "../console/search.ts";
import { findDeployments } from "../control-plane/deployments/deployment-finder-store.ts";
import type { Database } from "../platform/db/database.ts";
import { findQueues } from "../traces/annotation/annotation-queue-finder-store.ts";
import { findDatasets } from "../traces/datasets/dataset-finder-store.ts";
import { findProjects } from "../traces/projects/trace-finder-store.ts";
import type { RunReading } from "../traces/storage/run-storage.ts";

/** What each area finds, with the page of the console that shows it. */
export function composeSearch({ sql }: Database, runs: RunReading): Finder[] {
  const thread = (id: string) => `/agents/built-in/threads/${id}`;
  return [
    async (wanted) =>
      (await findDeployments(sql, wanted)).map(({ id, name, slug }) => ({
        ...{ kind: "deployment", id, title: name, detail: slug, path: `/deployments/${id}` },
      })),
    async (wanted) =>
      (await findAssistantsByName(sql, wanted)).map(({ assistant_id: id, name, graph_id }) => ({
        ...{ kind: "assistant", id, title: name, detail: graph_id },
        path: "/agents/built-in?tab=assistants",
      })),
    async (wanted) =>
      (await findThreads(sql, wanted)).map(({ thread_id: id, title, status }) => ({
        ...{ kind: "thread", id, title: title ?? id, detail: status, path: thread(id) },
      })),
    async (wanted) =>
      (await findRunsById(sql, wanted)).map(({ run_id: id, thread_id, status, graph_id }) => ({
        ...{ kind: "run", id, title: id, detail: `${graph_id}, ${status}`, path: thread(thread_id) },
      })),
    async (wanted) =>
      (await findProjects(sql, wanted, "others")).map(({ id, name }) => ({
        ...{ kind: "project", id, title: name, detail: "traces", path: `/traces/${id}` },
      })),
    async (wanted) =>
      (await findDatasets(sql, wanted)).map(({ id, name }) => ({
        ...{ kind: "dataset", id, title: name, detail: "", path: `/datasets/${id}` },
      })),
    async (wanted) =>
      (await findProjects(sql, wanted, "experiments")).map(({ id, name, reference_dataset_id: of }) => ({
        ...{ kind: "experiment", id, title: name, detail: "" },
        path: `/datasets/${of}/compare?selectedSessions=${id}`,
      })),
    async (wanted) =>
      (await findQueues(sql, wanted)).map(({ id, name }) => ({
        ...{ kind: "queue", id, title: name, detail: "annotation", path: `/queues/${id}` },
      })),
    async (wanted) =>
      (await findAlerts(sql, wanted)).map(({ id, name, state }) => ({
        ...{ kind: "alert", id, title: name, detail: state, path: `/alerts/${id}` },
      })),
    async (wanted) =>
      (await runs.findByIds(wanted)).map(({ id, project_id, name, run_type }) => ({
        ...{ kind: "trace", id, title: name, detail: `${run_type} ${id}` },
        path: `/o/${wanted.workspaceId}/projects/p/${project_id}/r/${id}`,
      })),
  ];
}
