import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import type { RunRemoval } from "../storage/run-storage.ts";
import { writes } from "../wire/access.ts";
import type { ProjectService } from "./project-service.ts";

const batch = 5_000;

export function runRemovalRoutes(options: { removal: RunRemoval; projects: ProjectService }): Route[] {
  const { removal, projects } = options;
  return [
    route(
      {
        method: "post",
        path: "/api/v1/runs/delete",
        operationId: "delete_traces",
        summary: "Delete traces of a project",
        description:
          "Every run of the traces is deleted, with its attachments and feedback. Unknown traces are ignored.",
        tag: "Tracing",
        access: writes,
        audit: { action: "traces.deleted" },
        body: z.object({ session_id: z.guid(), trace_ids: z.array(z.guid()).min(1).max(1_000) }),
        responses: {
          202: { description: "Deleted", schema: z.object({ message: z.string(), deleted: z.int() }) },
        },
        errors: [404],
      },
      async ({ caller, body }) => {
        const { id: projectId } = await projects.get(caller.workspaceId, body.session_id);
        const place = { workspaceId: caller.workspaceId, projectId };
        let deleted = 0;
        for (let count = batch; count === batch; deleted += count) {
          count = await removal.removeOfTraces(place, body.trace_ids, batch);
        }
        return json(202, { message: "Traces deleted", deleted });
      },
    ),
  ];
}
