import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { listTracking, lockDeployment, savePolledCommit } from "../desired-state/deployment-store.ts";
import type { RevisionMaker } from "../desired-state/revision-maker.ts";
import { readRevision } from "../desired-state/revision-store.ts";
import type { Secret } from "../desired-state/secret-rules.ts";
import { deploymentSecretsContext } from "../encryption/sealed-columns.ts";
import { type Integration, type Push, repositoryKey } from "./integration.ts";

export type PushServiceOptions = {
  database: Database;
  logger: Logger;
  secretBox: SecretBox;
  revisions: RevisionMaker;
  /** The commit a deployment's branch points to now. */
  headOf(deployment: Deployment, signal: AbortSignal): Promise<string>;
};

/** Makes revisions when a tracked branch moves: a webhook reports it, or a check finds it. */
export class PushService {
  readonly #options: PushServiceOptions;

  constructor(options: PushServiceOptions) {
    this.#options = options;
  }

  async onPush(integration: Integration, push: Push): Promise<string[]> {
    const pushed = new Set(push.repositoryUrls.map(repositoryKey));
    const made: string[] = [];
    for (const deployment of await listTracking(this.#options.database.sql, integration.workspace_id)) {
      const { repo_url, integration_id } = deployment.source_config;
      const branch = (deployment.tracked_repo_ref ?? "main").replace(/^refs\/heads\//, "");
      if (integration_id !== integration.id || branch !== push.branch) continue;
      if (!pushed.has(repositoryKey(repo_url ?? ""))) continue;
      const id = await this.#build(deployment, push.commitSha, `Push to ${push.branch}.`);
      if (id) made.push(id);
    }
    return made;
  }

  /** For hosts whose webhooks cannot reach us. */
  async poll(signal: AbortSignal): Promise<void> {
    for (const deployment of await listTracking(this.#options.database.sql)) {
      signal.throwIfAborted();
      try {
        const head = await this.#options.headOf(deployment, signal);
        const before = deployment.polled_commit_sha ?? (await this.#latestCommit(deployment));
        if (before === head) continue;
        if (before === null) await savePolledCommit(this.#options.database.sql, deployment.id, head);
        else await this.#build(deployment, head, `${deployment.tracked_repo_ref ?? "The branch"} has moved.`);
      } catch (error) {
        signal.throwIfAborted();
        this.#options.logger.warn(
          { deployment: deployment.id, reason: errorMessage(error) },
          "a tracked branch could not be checked",
        );
      }
    }
  }

  async #build(tracked: Deployment, commitSha: string, because: string): Promise<string | null> {
    return this.#options.database.transaction(async (tx) => {
      const deployment = await lockDeployment(tx, tracked.workspace_id, tracked.id);
      // Another process was first and has made the revision.
      if (!deployment || deployment.polled_commit_sha === commitSha) return null;
      await savePolledCommit(tx, deployment.id, commitSha);
      const sealed = this.#options.secretBox.open(
        deployment.secrets_sealed,
        deploymentSecretsContext(deployment.id),
      );
      return this.#options.revisions.make(tx, deployment, {
        source: "github",
        secrets: JSON.parse(sealed) as Secret[],
        createdBy: null,
        commitSha,
        sourceRevisionConfig: {
          ...deployment.source_revision_config,
          source_tarball_path: null,
          repo_ref: deployment.tracked_repo_ref ?? deployment.source_revision_config.repo_ref,
        },
        because,
      });
    });
  }

  async #latestCommit(deployment: Deployment): Promise<string | null> {
    if (!deployment.latest_revision_id) return null;
    return (
      (await readRevision(this.#options.database.sql, deployment.latest_revision_id))?.repo_commit_sha ?? null
    );
  }
}
