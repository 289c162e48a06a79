import { z } from "zod";
import { type Route, route } from "../../platform/http/route.ts";

/** The addresses clients give out for what is shared. */
export function publicLinkRoutes(): Route[] {
  return [linkRoute("r", "open_shared_trace", "runs"), linkRoute("d", "open_shared_dataset", "datasets")];
}

function linkRoute(kind: "r" | "d", operationId: string, leadsTo: "runs" | "datasets"): Route {
  return route(
    {
      method: "get",
      path: `/public/{share_token}/${kind}`,
      operationId,
      summary: "The URL that clients print for shared traces and datasets",
      tag: "Sharing",
      access: { kind: "open" },
      hidden: true,
      params: z.object({ share_token: z.guid().transform((text) => text.toLowerCase()) }),
      responses: { 302: { description: "Redirect to the shared trace or dataset, as JSON" } },
    },
    ({ params }) =>
      new Response(null, {
        status: 302,
        headers: { location: `/api/v1/public/${params.share_token}/${leadsTo}` },
      }),
  );
}
