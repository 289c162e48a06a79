import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { lockDeployment } from "../desired-state/deployment-store.ts";
import { savePreviewSettings } from "../integrations/preview-store.ts";
import { deploymentNotFound, refused } from "./deployment-rules.ts";
import type { DeploymentViews } from "./deployment-views.ts";
import type { DeploymentView } from "./deployment-wire.ts";

/** Whether the pull requests of a deployment get their own deployments. */
export class DeploymentPreviews {
  readonly #options: { database: Database; clock: Clock; views: DeploymentViews };

  constructor(options: { database: Database; clock: Clock; views: DeploymentViews }) {
    this.#options = options;
  }

  set(
    caller: Caller,
    id: string,
    settings: { enabled: boolean; shareSecrets: boolean },
  ): Promise<DeploymentView> {
    const { database, clock, views } = this.#options;
    return database.transaction(async (tx) => {
      const current = await lockDeployment(tx, caller.workspaceId, id);
      if (!current) throw deploymentNotFound(id);
      const { repo_url, integration_id } = current.source_config;
      if (current.preview_of !== null) throw refused("A preview cannot have previews.");
      if (settings.enabled && (repo_url === null || integration_id === null))
        throw refused(
          "Previews need a git integration: its webhook or its token finds pull requests. Create one with POST /v1/integrations/github and deploy with its integration_id.",
        );
      await savePreviewSettings(tx, id, settings, clock.now());
      return views.one(tx, (await lockDeployment(tx, caller.workspaceId, id))!);
    });
  }
}
