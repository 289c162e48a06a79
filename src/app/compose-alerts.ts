import { createAlerts } from "../alerts/alerts.ts";
import { countFailedExports } from "../bulk-export/exports/export-failure-store.ts";
import { findDeployment } from "../control-plane/desired-state/deployment-store.ts";
import type { Area } from "../platform/areas/area.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import { findProject, findProjectByName } from "../traces/projects/project-store.ts";
import type { Traces } from "../traces/traces.ts";
import type { WorkingGround } from "./ground.ts";

/** Alerts, with what they look at: runs, exports, projects and deployments. */
export function composeAlerts(
  ground: WorkingGround,
  network: NetworkGuard,
  { runs }: Pick<Traces, "runs">,
): Area {
  const { config, database, secretBox, clock, logger, publicUrl } = ground;
  const { sql } = database;
  return createAlerts({
    ...{ database, secretBox, clock, logger, network, publicUrl, mail: config.mail },
    sources: {
      runFigures: (...asked) => runs.statistics.figures(...asked),
      hasRuns: (...asked) => runs.statistics.hasRuns(...asked),
      failedExports: (...asked) => countFailedExports(sql, ...asked),
      project: (workspaceId, id) => findProject(sql, workspaceId, id),
      async deployment(workspaceId, id) {
        const found = await findDeployment(sql, workspaceId, id);
        // By name: its runs go to the project of that name, also after the project was deleted and created again.
        const project = found && (await findProjectByName(sql, workspaceId, found.name));
        const isAsleep = found?.sleep_state === "asleep";
        return found && { name: found.name, projectId: project?.id ?? null, isAsleep };
      },
    },
  });
}
