import { z } from "zod";
import { json, type Route, route } from "../platform/http/route.ts";
import { type Finder, idRange, searchKinds } from "./search.ts";

const perKind = 5;
const found = z
  .object({
    kind: z.enum(searchKinds),
    id: z.string(),
    title: z.string(),
    detail: z.string().describe("A word or two next to the title."),
    path: z.string().describe("The page of the console that shows it."),
  })
  .meta({ id: "SearchResult" });

/** One search over everything of the workspace that has a page. */
export function searchRoutes(finders: readonly Finder[]): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/search",
        operationId: "search_workspace",
        summary: "Find anything by name or id",
        description: `Deployments, assistants, tracing projects, datasets, experiments, annotation queues and alerts by name; threads by title among the latest thousand; all of them and runs by id or its first six digits. At most ${perKind} of each kind.`,
        tag: "Search",
        access: { kind: "workspace", role: "viewer", scope: "read" },
        query: z.object({ q: z.string().trim().min(1).max(200).describe("A part of a name, or an id.") }),
        responses: {
          200: { description: "What was found", schema: z.object({ resources: z.array(found) }) },
        },
      },
      async ({ caller: { workspaceId }, query: { q } }) => {
        const wanted = { workspaceId, words: q, ids: idRange(q), limit: perKind };
        const results = await Promise.all(finders.map((find) => find(wanted)));
        return json(200, { resources: results.flat() });
      },
    ),
  ];
}
