import { z } from "zod";
import { describeSecurity, openSignInRoutes } from "../../tests/support/security-suite.ts";
import { createWorkspacesApp } from "../../tests/support/workspaces-app.ts";
import { json, route } from "../platform/http/route.ts";

const answer = {
  200: { description: "The caller", schema: z.object({ workspace_id: z.string().nullable() }) },
};
const base = { operationId: "probe", summary: "Probe", tag: "Probe", responses: answer } as const;
const probes = [
  route({ ...base, method: "get", path: "/probe/open", access: { kind: "open" } }, () =>
    json(200, { workspace_id: null }),
  ),
  route(
    {
      ...base,
      method: "post",
      path: "/probe/agent",
      access: { kind: "agent", role: "editor", scope: "runs" },
    },
    ({ caller }) => json(200, { workspace_id: caller.workspaceId }),
  ),
];

for (const agentRoutes of ["open on loopback", "closed"] as const) {
  describeSecurity(`the identity routes, agent routes ${agentRoutes}`, {
    openRoutes: ["GET /probe/open", ...openSignInRoutes],
    agentRoutes,
    start: async () => {
      const app = await createWorkspacesApp({ routes: probes, agentAuthRequired: agentRoutes === "closed" });
      return { fetch: app.fetch, routes: app.routes, admin: app, stop: app.stop };
    },
  });
}
