import { join } from "node:path";
import type { Database } from "../../platform/db/database.ts";
import type { BuildSource } from "../builds/build-request.ts";
import type { GitSource } from "../builds/git/git-source.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { Revision } from "../desired-state/revision.ts";
import type { IntegrationService } from "../integrations/integration-service.ts";
import type { UploadService } from "../uploads/upload-service.ts";
import { findUpload } from "../uploads/upload-store.ts";

export type DeploymentSourcesOptions = {
  database: Database;
  git: GitSource;
  integrations: Pick<IntegrationService, "gitCredentials">;
  uploads: Pick<UploadService, "save">;
  folder: string;
};

const lookMs = 60_000;

/** Where the source of a deployment is, and with what it may be read. */
export class DeploymentSources {
  readonly #options: DeploymentSourcesOptions;

  constructor(options: DeploymentSourcesOptions) {
    this.#options = options;
  }

  /** What a revision is built from. */
  async of(revision: Revision, signal: AbortSignal): Promise<BuildSource> {
    const { database, integrations, uploads } = this.#options;
    const { repo_url, integration_id } = revision.build_config;
    if (revision.source === "github") {
      const { workspace_id: workspaceId, repo_commit_sha: commit } = revision;
      const url = repo_url ?? "";
      const credentials = await integrations.gitCredentials(workspaceId, integration_id, url, signal);
      const { repo_ref: ref } = revision.source_revision_config;
      return { kind: "git", url, ref, commit, credentials };
    }
    const path = revision.source_revision_config.source_tarball_path ?? "";
    const upload = await findUpload(database.sql, revision.deployment_id, path);
    if (!upload?.sha256) throw new Error(`The archive ${path} of revision ${revision.id} is gone.`);
    const content = { sha256: upload.sha256, bytes: Number(upload.bytes) };
    return {
      kind: "tarball",
      sha256: upload.sha256,
      save: (file, reading) => uploads.save(upload, { ...content, file, signal: reading }),
    };
  }

  /** The commit a deployment's branch points to now. */
  async headOf(deployment: Deployment, signal: AbortSignal): Promise<string> {
    const { git, integrations, folder } = this.#options;
    const { repo_url, integration_id } = deployment.source_config;
    const { workspace_id: workspaceId, tracked_repo_ref: ref } = deployment;
    const url = repo_url ?? "";
    const credentials = await integrations.gitCredentials(workspaceId, integration_id, url, signal);
    const workFolder = join(folder, "polls", deployment.id);
    const place = { workFolder, timeoutMs: lookMs, signal, onLine() {} };
    return git.resolve({ url, ref, credentials, workspaceId }, place);
  }
}
