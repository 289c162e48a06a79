import type { Role } from "../../src/platform/http/access/caller.ts";
import type { Route } from "../../src/platform/http/route.ts";
import { routeName } from "./security-probe.ts";

/**
 * What a viewer may send that is no GET, each with the reason. Every other POST, PUT, PATCH and DELETE refuses a
 * viewer: a new route that should not must be named here.
 */
export const viewerWrites: Record<string, string> = {
  // Searches, counts and log queries carry their question in the body.
  "POST /v1/projects/{deployment_id}/revisions/{revision_id}/build_logs": "reads",
  "POST /v1/projects/{deployment_id}/revisions/{revision_id}/deploy_logs": "reads",
  "POST /v1/projects/{deployment_id}/deploy_logs": "reads",
  "POST /v2/auth/tokens/exists/batch": "reads",
  "POST /assistants/search": "reads",
  "POST /assistants/count": "reads",
  "POST /assistants/{assistant_id}/versions": "reads",
  "POST /ui/{assistant_id}": "reads: the name of the component is in the body",
  "POST /threads/search": "reads",
  "POST /threads/count": "reads",
  "POST /threads/{thread_id}/state/checkpoint": "reads",
  "POST /threads/{thread_id}/history": "reads",
  "POST /threads/{thread_id}/stream/events": "reads",
  "POST /threads/{thread_id}/stream": "reads",
  "POST /store/items/search": "reads",
  "POST /store/namespaces": "reads",
  "POST /runs/crons/search": "reads",
  "POST /runs/crons/count": "reads",
  "POST /api/v1/runs/query": "reads",
  "POST /api/v1/runs/query/validate": "reads",
  "POST /api/v1/runs/stats": "reads",
  "POST /api/v2/runs/query": "reads",
  "POST /api/v1/bulk-exports/preview": "reads",
  "POST /api/v2/traces/query": "reads",
  "POST /api/v2/threads/query": "reads",
  "POST /api/v1/runs/group": "reads",
  "POST /api/v2/datasets/{dataset_id}/experiment-runs": "reads",
  "POST /api/v1/datasets/{dataset_id}/runs": "reads",
  "POST /api/v1/annotation-queues/{queue_id}/export": "reads: the answer is the file",
  "POST /api/threads/{thread_id}/stream": "reads",
  "POST /api/threads/{thread_id}/history": "reads",
  // A viewer's own session, and tokens that can do no more than the viewer.
  "POST /v2/auth/sessions": "a session of one's own, with one's own role",
  "PATCH /v2/auth/sessions/current": "one's own session",
  "DELETE /v2/auth/sessions/current": "one's own session",
  "DELETE /v2/auth/sessions": "one's own sessions; those of others need an admin",
  "DELETE /v2/auth/sessions/{session_id}": "one's own session; those of others need an admin",
  "POST /v2/deployments/{deployment_id}/tokens": "a token for one deployment, with one's own role",
  "POST /v2/deployment-pages/{slug}/codes": "a code for the pages of one deployment, with one's own role",
  "POST /v2/auth/token-events/{event_id}/acknowledge": "a note about one's own account",
  // Look at what they are asked for themselves.
  "POST /threads/{thread_id}/commands": "commands that change something ask for the role editor",
  "DELETE /mcp": "there are no sessions to end",
};

/** Reads that are no viewer's, each with the reason. */
export const editorReads: Record<string, string> = {
  "GET /api/v1/feedback/tokens": "whoever sees a link may write with it",
  "GET /v2/auth/wait/{auth_id}": "the answer has an access token in it",
  "GET /v2/auth/authorizations": "the list has addresses in it at which an account is given",
  "GET /v2/auth/authorizations/{auth_id}": "the same",
  "GET /v2/listeners/{listener_id}/revisions/{revision_id}/archive":
    "only the process of a listener reads sources",
};

/** What editors may not do, by what was decided: an admin's. */
export const adminOnly: readonly string[] = [
  "DELETE /v2/api-keys/{key_id}",
  "POST /v2/workspaces",
  "PATCH /v2/workspaces/{workspace_id}",
  "DELETE /v2/workspaces/{workspace_id}",
  "PUT /v2/organizations/{organization_id}/plan",
  "POST /v2/members",
  "POST /v2/members/{user_id}/invitation",
  "PATCH /v2/members/{user_id}",
  "DELETE /v2/members/{user_id}",
  "PUT /v2/model-keys/{provider}",
  "DELETE /v2/model-keys/{provider}",
  "GET /v2/audit-events",
  "GET /v2/audit-events/export",
  "DELETE /v2/deployments",
  "DELETE /v2/deployments/{deployment_id}",
  "POST /v2/listeners",
  "PATCH /v2/listeners/{listener_id}",
  "DELETE /v2/listeners/{listener_id}",
  "DELETE /v2/auth/tokens/workspace/slack",
  "GET /v2/auth/webhook",
  "PUT /v2/auth/webhook",
  "DELETE /v2/auth/webhook",
  "PATCH /api/v1/settings",
  "POST /api/v1/bulk-exports/destinations",
  "PATCH /api/v1/bulk-exports/destinations/{destination_id}",
  "DELETE /api/v1/bulk-exports/destinations/{destination_id}",
  "POST /api/v1/bulk-exports",
  "PATCH /api/v1/bulk-exports/{bulk_export_id}",
  "POST /api/v1/bulk-exports/{bulk_export_id}/runs/{run_id}/link",
];

/** The lowest role a route is for, by these lists and not by its own words. */
export function expectedRole(route: Route): Role {
  const name = routeName(route);
  if (adminOnly.includes(name)) return "admin";
  if (name in editorReads) return "editor";
  return route.spec.method === "get" || name in viewerWrites ? "viewer" : "editor";
}

/** Sentences about routes whose own words differ from the lists, and about names in the lists that are no route. */
export function rolesThatDiffer(routes: readonly Route[]): string[] {
  const names = new Set(routes.map(routeName));
  const stale = [...Object.keys({ ...viewerWrites, ...editorReads }), ...adminOnly]
    .filter((name) => !names.has(name))
    .map((name) => `${name} is no route any more: take it out of tests/support/security-roles.ts.`);
  const differing = routes.flatMap((route) => {
    const { access } = route.spec;
    if (access.kind === "open" || access.role === expectedRole(route)) return [];
    return [
      `${routeName(route)} asks for the role ${access.role}; tests/support/security-roles.ts expects ${expectedRole(route)}. ` +
        "If a viewer may send it, name it in viewerWrites with the reason; if only an admin may, in adminOnly.",
    ];
  });
  return [...stale, ...differing];
}
