import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { newId } from "../../platform/ids.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import type { ProjectService } from "../projects/project-service.ts";
import { reads, writes } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import { time } from "../wire/time-schema.ts";
import {
  type ComparativeExperiment,
  deleteComparativeExperiment,
  insertComparativeExperiment,
  listComparativeExperiments,
} from "./comparative-experiment-store.ts";

const tag = "Datasets";
const id = z.guid().transform((text) => text.toLowerCase());
const view = z
  .object({
    id: z.guid(),
    tenant_id: z.guid(),
    name: z.string(),
    description: z.string().nullable(),
    reference_dataset_id: z.guid(),
    extra: z.unknown(),
    created_at: z.string(),
    modified_at: z.string(),
    experiments_info: z.array(z.object({ id: z.guid(), name: z.string() })),
    feedback_stats: z.record(z.string(), z.object({ n: z.int(), avg: z.number().nullable() })),
  })
  .meta({ id: "ComparativeExperiment" });

export function comparativeExperimentRoutes(options: {
  database: Database;
  datasets: DatasetService;
  projects: ProjectService;
}): Route[] {
  const { database, datasets, projects } = options;
  const { sql } = database;
  return [
    route(
      {
        method: "post",
        path: "/api/v1/datasets/comparative",
        operationId: "create_comparative_experiment",
        summary: "Create a comparison of experiments on a dataset",
        tag,
        access: writes,
        body: z.looseObject({
          id: id.nullish(),
          name: z.string().min(1).max(500),
          description: z.string().max(10_000).nullish(),
          experiment_ids: z.array(id).min(1).max(100),
          reference_dataset_id: id.nullish().describe("Default: that of the first experiment."),
          created_at: time.nullish(),
          extra: z.record(z.string(), z.unknown()).nullish(),
        }),
        responses: { 200: { description: "The comparison", schema: view } },
        errors: [404, 409],
      },
      async ({ caller, body }) => {
        const { workspaceId } = caller;
        let datasetId = body.reference_dataset_id ?? null;
        for (const [index, experimentId] of body.experiment_ids.entries()) {
          const of = (await projects.get(workspaceId, experimentId)).reference_dataset_id;
          datasetId ??= of;
          if (of === null || of !== datasetId)
            throw invalidField(
              ["body", "experiment_ids", index],
              "This project is not an experiment on that dataset",
            );
        }
        await datasets.get(workspaceId, datasetId!);
        const made = await insertComparativeExperiment(sql, {
          id: body.id ?? newId(),
          workspaceId,
          name: body.name,
          description: body.description ?? null,
          datasetId: datasetId!,
          experimentIds: body.experiment_ids,
          extra: body.extra,
          createdAt: body.created_at ?? null,
        });
        if (!made) throw idTaken();
        return json(200, toWire(made));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/comparative",
        operationId: "list_comparative_experiments",
        summary: "List the comparisons of experiments on a dataset, newest first",
        tag,
        access: reads,
        params: z.object({ dataset_id: id }),
        query: z.object({ ...page(100), id: queryList(id).optional().describe("Only these.") }),
        responses: { 200: { description: "A page of comparisons", schema: z.array(view) } },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        await datasets.get(caller.workspaceId, params.dataset_id);
        const found = await listComparativeExperiments(sql, caller.workspaceId, params.dataset_id, query);
        return json(200, found.map(toWire));
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/datasets/comparative/{comparative_experiment_id}",
        operationId: "delete_comparative_experiment",
        summary: "Delete a comparison; the experiments stay",
        tag,
        access: writes,
        params: z.object({ comparative_experiment_id: id }),
        responses: { 204: { description: "Deleted" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        if (!(await deleteComparativeExperiment(sql, caller.workspaceId, params.comparative_experiment_id)))
          throw comparisonNotFound(params.comparative_experiment_id);
        return noContent();
      },
    ),
  ];
}

function toWire({ workspace_id, ...found }: ComparativeExperiment): z.input<typeof view> {
  return { ...found, tenant_id: workspace_id };
}

function idTaken(): AppError {
  return new AppError({
    code: "traces.comparative_experiment_exists",
    kind: "conflict",
    message: "A comparison with this id exists already. Send another id, or none.",
  });
}

export function comparisonNotFound(id: string): AppError {
  return new AppError({
    code: "traces.comparative_experiment_not_found",
    kind: "not_found",
    message: `Comparison ${id} not found. Check the id, and that the key belongs to its workspace.`,
  });
}
