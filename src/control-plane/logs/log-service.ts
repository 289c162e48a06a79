import type { Database } from "../../platform/db/database.ts";
import type { DeploymentService } from "../deployments/deployment-service.ts";
import type { RevisionService } from "../revisions/revision-service.ts";
import type { LogReader } from "./log-routes.ts";
import { readLogs } from "./log-store.ts";

/** Lines are looked up by deployment, so whether the caller may see that one is asked first. */
export function createLogService(options: {
  database: Database;
  deployments: DeploymentService;
  revisions: RevisionService;
}): LogReader {
  return {
    async read(caller, query) {
      if (query.revisionId === undefined) await options.deployments.load(caller, query.deploymentId);
      else await options.revisions.load(caller, query.deploymentId, query.revisionId);
      return readLogs(options.database.sql, query);
    },
  };
}
