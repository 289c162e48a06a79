import type { Clock } from "../../platform/clock.ts";
import type { Sql } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { newId } from "../../platform/ids.ts";
import { revisionSecretsContext } from "../encryption/sealed-columns.ts";
import { buildConfigOf, type Deployment } from "./deployment.ts";
import { markLatest, takeRevisionNumber } from "./deployment-store.ts";
import type { BuildConfig, Revision, Source, SourceRevisionConfig } from "./revision.ts";
import { announceDeployment, insertEvent, insertRevision } from "./revision-store.ts";
import type { Secret } from "./secret-rules.ts";

export type NewRevision = {
  source?: Source;
  secrets: Secret[];
  createdBy: string | null;
  /** Instead of the deployment's current one. */
  sourceRevisionConfig?: SourceRevisionConfig;
  buildConfig?: BuildConfig;
  /** Built from exactly this commit, even if the ref points to another one by now. */
  commitSha?: string | null;
  /** The revision this one repeats, in the same image. */
  redeployOf?: Revision;
  because?: string;
};

export class RevisionMaker {
  readonly #clock: Clock;
  readonly #secretBox: SecretBox;

  constructor({ clock, secretBox }: { clock: Clock; secretBox: SecretBox }) {
    this.#clock = clock;
    this.#secretBox = secretBox;
  }

  /** Part of the caller's transaction, which holds the deployment's row. Returns the new id. */
  async make(tx: Sql, deployment: Deployment, input: NewRevision): Promise<string> {
    const id = newId();
    const number = await takeRevisionNumber(tx, deployment.id);
    const now = this.#clock.now();
    const status = number === 1 ? "CREATING" : "QUEUED";
    await insertRevision(tx, {
      id,
      deployment_id: deployment.id,
      workspace_id: deployment.workspace_id,
      number,
      status,
      source: input.source ?? deployment.source,
      source_revision_config: input.sourceRevisionConfig ?? deployment.source_revision_config,
      build_config: input.buildConfig ?? buildConfigOf(deployment),
      repo_commit_sha: input.commitSha ?? null,
      artifact_key: null,
      image_reference: input.redeployOf?.image_reference ?? null,
      image_digest: input.redeployOf?.image_digest ?? null,
      secrets_sealed: this.#secretBox.seal(JSON.stringify(input.secrets), revisionSecretsContext(id)),
      redeploy_of: input.redeployOf?.id ?? null,
      createdBy: input.createdBy,
      now,
    });
    const message = input.because ?? (number === 1 ? "Created." : "Waiting for its turn.");
    await insertEvent(tx, id, { kind: "status", status, message }, now);
    await markLatest(tx, deployment.id, id, now);
    await announceDeployment(tx, deployment.id);
    return id;
  }
}
