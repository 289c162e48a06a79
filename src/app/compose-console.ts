import { readThreadsMark } from "../agent-server/threads/thread-mark-store.ts";
import { readConnectionsMark } from "../auth-service/tokens/connections-mark-store.ts";
import { readDestinationsMark, readExportsMark } from "../bulk-export/exports/export-mark-store.ts";
import { createConsole } from "../console/console.ts";
import type { PlaygroundPorts } from "../console/playground-service.ts";
import { readDeploymentsMark } from "../control-plane/deployments/deployment-mark-store.ts";
import type { Database, Sql } from "../platform/db/database.ts";
import type { Logger } from "../platform/logger.ts";
import type { Traces } from "../traces/traces.ts";
import { readSettingsMark } from "../workspaces/tenants/settings-mark-store.ts";
import { composeSearch } from "./compose-search.ts";

/** The console, with each area's way to notice its changes. */
export function composeConsole(
  ground: { database: Database; logger: Logger; folder?: string | undefined },
  playground: PlaygroundPorts,
  { runs }: Pick<Traces, "runs">,
): ReturnType<typeof createConsole> {
  const { database, logger, folder } = ground;
  const ofWorkspace = (read: (sql: Sql, workspaceId: string) => Promise<string>) => ({
    mark: ({ workspaceId }: { workspaceId: string }) => read(database.sql, workspaceId),
  });
  return createConsole({
    logger,
    folder,
    playground,
    finders: composeSearch(database, runs.reading),
    topics: {
      deployments: ofWorkspace(readDeploymentsMark),
      exports: ofWorkspace(readExportsMark),
      destinations: ofWorkspace(readDestinationsMark),
      traces: { mark: ({ workspaceId }) => runs.statistics.mark(workspaceId) },
      connections: { perUser: true, mark: (scope) => readConnectionsMark(database.sql, scope) },
      settings: ofWorkspace(readSettingsMark),
      threads: ofWorkspace(readThreadsMark),
    },
  });
}
