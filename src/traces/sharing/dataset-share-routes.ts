import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import { reads, writes } from "../wire/access.ts";
import type { ShareService } from "./share-service.ts";

const tag = "Sharing";
const id = z.guid().transform((text) => text.toLowerCase());
const datasetParams = z.object({ dataset_id: id });
const datasetShare = z.object({ dataset_id: z.guid(), share_token: z.guid() });

export function datasetShareRoutes({
  shares,
  datasets,
}: {
  shares: ShareService;
  datasets: DatasetService;
}): Route[] {
  return [
    route(
      {
        method: "put",
        path: "/api/v1/datasets/{dataset_id}/share",
        operationId: "share_dataset",
        summary: "Share a dataset with its examples",
        description: "Everyone with the token can read it, without a key, until sharing is withdrawn.",
        tag,
        access: writes,
        audit: { action: "dataset.shared", target: { kind: "dataset", id: "params.dataset_id" } },
        params: datasetParams,
        body: z.looseObject({}).nullish(),
        responses: { 200: { description: "The token", schema: datasetShare } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await datasets.get(caller.workspaceId, params.dataset_id);
        const { token } = await shares.share(caller.workspaceId, "dataset", params.dataset_id);
        return json(200, { dataset_id: params.dataset_id, share_token: token });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/share",
        operationId: "get_dataset_share",
        summary: "The token of a shared dataset",
        tag,
        access: reads,
        params: datasetParams,
        responses: { 200: { description: "The token", schema: datasetShare } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await datasets.get(caller.workspaceId, params.dataset_id);
        const found = await shares.find(caller.workspaceId, "dataset", params.dataset_id);
        if (!found) throw datasetNotShared(params.dataset_id);
        return json(200, { dataset_id: params.dataset_id, share_token: found.token });
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/datasets/{dataset_id}/share",
        operationId: "unshare_dataset",
        summary: "Withdraw the link to a dataset",
        tag,
        access: writes,
        audit: { action: "dataset.unshared", target: { kind: "dataset", id: "params.dataset_id" } },
        params: datasetParams,
        responses: { 204: { description: "The token no longer works" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await datasets.get(caller.workspaceId, params.dataset_id);
        await shares.unshare(caller.workspaceId, "dataset", params.dataset_id);
        return noContent();
      },
    ),
  ];
}

function datasetNotShared(id: string): AppError {
  return new AppError({
    code: "traces.dataset_not_shared",
    kind: "not_found",
    message: `Dataset ${id} is not shared. Share it with PUT /api/v1/datasets/${id}/share.`,
  });
}
