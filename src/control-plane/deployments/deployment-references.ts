import type { Sql } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { SourceConfig } from "../desired-state/deployment.ts";
import type { SourceRevisionConfig } from "../desired-state/revision.ts";
import { findIntegration } from "../integrations/integration-store.ts";
import { holdListener } from "../listeners/listener-store.ts";
import { holdUpload } from "../uploads/upload-store.ts";
import { checkIntegrationHost, refused } from "./deployment-rules.ts";

/** Refuses what names an integration, a listener or an upload that is not there. */
export async function checkReferences(
  tx: Sql,
  caller: Caller,
  deploymentId: string,
  config: SourceConfig,
  revision: SourceRevisionConfig,
): Promise<void> {
  if (config.integration_id) {
    const integration = await findIntegration(tx, caller.workspaceId, config.integration_id);
    if (!integration) {
      throw refused(
        `Integration ID ${config.integration_id} not found. Create it with POST /v1/integrations/github.`,
      );
    }
    checkIntegrationHost(integration, config.repo_url);
  }
  if (config.listener_id && !(await holdListener(tx, caller.workspaceId, config.listener_id))) {
    throw refused(`Listener ID ${config.listener_id} not found. Create it with POST /v2/listeners.`);
  }
  const { source_tarball_path: path } = revision;
  if (path && !(await holdUpload(tx, deploymentId, path))) {
    throw refused(
      "source_tarball_path must be an object_path that POST …/upload-url returned for this deployment, with the archive already uploaded.",
    );
  }
}
