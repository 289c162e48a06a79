import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { reads, writes } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import { latestTag } from "./dataset-version.ts";
import type { DatasetVersionService } from "./dataset-version-service.ts";

const tag = "Datasets";
const id = z.guid();
const params = z.object({ dataset_id: id });
const asOf = z.string().min(1).max(500).describe("A time, or a tag.");
const version = z.object({ as_of: z.string(), tags: z.array(z.string()) }).meta({ id: "DatasetVersion" });
const one = { description: "The version", schema: version };

export function datasetVersionRoutes(versions: DatasetVersionService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/versions",
        operationId: "list_dataset_versions",
        summary: "List the versions of a dataset, newest first",
        description: "A version is a time at which examples were added, changed or removed.",
        tag,
        access: reads,
        params,
        query: z.object({ search: z.string().max(500).optional().describe("In the tags."), ...page(100) }),
        responses: { 200: { description: "A page of versions", schema: z.array(version) } },
        errors: [404],
      },
      async ({ caller, params, query }) =>
        json(200, await versions.list(caller.workspaceId, params.dataset_id, query)),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/version",
        operationId: "get_dataset_version",
        summary: "Find the version at a time, or of a tag",
        tag,
        access: reads,
        params,
        query: z.object({ as_of: asOf.optional(), tag: z.string().min(1).max(500).optional() }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const which = query.tag ?? query.as_of;
        if (which === undefined || (query.tag !== undefined && query.as_of !== undefined))
          throw invalidField(["query", "as_of"], "Exactly one of as_of and tag is needed");
        return json(200, await versions.find(caller.workspaceId, params.dataset_id, which));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/versions/diff",
        operationId: "diff_dataset_versions",
        summary: "Compare two versions of a dataset",
        tag,
        access: reads,
        params,
        query: z.object({ from_version: asOf, to_version: asOf }),
        responses: {
          200: {
            description: "The examples that differ",
            schema: z.object({
              examples_added: z.array(id),
              examples_modified: z.array(id),
              examples_removed: z.array(id),
            }),
          },
        },
        errors: [404],
      },
      async ({ caller, params, query }) =>
        json(
          200,
          await versions.diff(caller.workspaceId, params.dataset_id, query.from_version, query.to_version),
        ),
    ),
    route(
      {
        method: "put",
        path: "/api/v1/datasets/{dataset_id}/tags",
        operationId: "update_dataset_tag",
        summary: "Tag a version; the version that had the tag loses it",
        tag,
        access: writes,
        params,
        body: z.looseObject({
          as_of: asOf.describe("The version at this time."),
          tag: z.string().min(1).max(500),
        }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        if (body.tag === latestTag)
          throw invalidField(["body", "tag"], `"${latestTag}" is always the newest version. Choose another`);
        return json(200, await versions.tag(caller.workspaceId, params.dataset_id, body.tag, body.as_of));
      },
    ),
  ];
}
