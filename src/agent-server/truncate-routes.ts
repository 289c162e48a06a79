import { z } from "zod";
import type { Database } from "../platform/db/database.ts";
import { json } from "../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "./auth/agent-route.ts";
import { asksNothing } from "./auth/route-rules.ts";
import { truncateWorkspace } from "./truncate-store.ts";

const flags = z.looseObject({
  runs: z.boolean().optional(),
  threads: z.boolean().optional(),
  assistants: z.boolean().optional(),
  checkpointer: z.boolean().optional(),
  checkpoint: z.boolean().optional(),
  store: z.boolean().optional(),
});

/** Empties a workspace between tests. Served only where a test setting asks for it. */
export function truncateRoutes(database: Database): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/internal/truncate",
        operationId: "truncate",
        summary: "Empty the workspace (tests only)",
        tag: "System",
        access: { kind: "agent", role: "admin", scope: "admin" },
        guard: asksNothing,
        body: flags,
        responses: { 200: { description: "Done.", schema: z.object({ ok: z.literal(true) }) } },
        hidden: true,
      },
      async ({ caller, body }) => {
        await database.transaction((tx) =>
          truncateWorkspace(tx, caller.workspaceId, {
            runs: body.runs ?? false,
            threads: body.threads ?? false,
            assistants: body.assistants ?? false,
            checkpoints: body.checkpointer ?? body.checkpoint ?? false,
            store: body.store ?? false,
          }),
        );
        return json(200, { ok: true });
      },
    ),
  ];
}
