import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import type { Dataset } from "../datasets/dataset.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import { dataset, toWire as datasetToWire } from "../datasets/dataset-view.ts";
import { example, toWire as exampleToWire } from "../datasets/example-view.ts";
import type { ProjectService } from "../projects/project-service.ts";
import { page } from "../wire/list-query.ts";
import { notShared, type ShareService } from "./share-service.ts";

const tag = "Sharing";
const open = { kind: "open" } as const;
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ share_token: id });
const ids = queryList(id).optional();

export type PublicDatasetsOptions = {
  shares: ShareService;
  datasets: DatasetService;
  projects: ProjectService;
};

/** A shared dataset, for everyone with the token. No key is needed, and none is read. */
export function publicDatasetRoutes(options: PublicDatasetsOptions): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/datasets",
        operationId: "get_shared_dataset",
        summary: "A shared dataset",
        tag,
        access: open,
        params,
        responses: { 200: { description: "The dataset", schema: dataset } },
        errors: [404],
      },
      async ({ params }) => json(200, datasetToWire(await datasetOf(options, params.share_token))),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/examples",
        operationId: "list_shared_examples",
        summary: "The examples of a shared dataset, without attachments",
        tag,
        access: open,
        params,
        query: z.object({ id: ids, ...page(1_000) }),
        responses: { 200: { description: "A page of examples", schema: z.array(example) } },
        errors: [404],
      },
      async ({ params, query }) => {
        const found = await datasetOf(options, params.share_token);
        const filter = { datasetId: found.id, ids: query.id, limit: query.limit, offset: query.offset };
        const examples = await options.datasets.listExamples(found.workspace_id, filter);
        return json(
          200,
          examples.map((each) => exampleToWire(each)),
        );
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/datasets/sessions",
        operationId: "list_shared_experiments",
        summary: "The experiments on a shared dataset, by name and time",
        tag,
        access: open,
        params,
        query: z.object({
          id: ids,
          name: z.string().optional(),
          name_contains: z.string().optional(),
          ...page(100),
        }),
        responses: {
          200: {
            description: "A page of experiments",
            schema: z.array(z.looseObject({ id: z.guid(), name: z.string() })),
          },
        },
        errors: [404],
      },
      async ({ params, query }) => {
        const found = await datasetOf(options, params.share_token);
        const experiments = await options.projects.list(found.workspace_id, {
          referenceDatasets: [found.id],
          ...(query.id && { ids: query.id }),
          ...(query.name !== undefined && { name: query.name }),
          ...(query.name_contains !== undefined && { nameContains: query.name_contains }),
          limit: query.limit,
          offset: query.offset,
        });
        return json(
          200,
          experiments.map(
            ({ id, name, description, start_time, end_time, reference_dataset_id, workspace_id }) => ({
              id,
              name,
              description,
              start_time,
              end_time,
              reference_dataset_id,
              tenant_id: workspace_id,
            }),
          ),
        );
      },
    ),
  ];
}

async function datasetOf({ shares, datasets }: PublicDatasetsOptions, token: string): Promise<Dataset> {
  const share = await shares.open(token, "dataset");
  return datasets.get(share.workspace_id, share.target_id).catch((error: unknown) => {
    throw error instanceof AppError && error.kind === "not_found" ? notShared() : error;
  });
}
