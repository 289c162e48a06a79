import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { OwnDatabase } from "../../platform/db/own-database.ts";
import { ownDatabaseUrl } from "../../platform/db/own-database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { ArtifactShelf } from "../builds/artifact-shelf.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { isBuilt, type Revision } from "../desired-state/revision.ts";
import { asSecrets } from "../desired-state/secret-references.ts";
import type { Secret } from "../desired-state/secret-rules.ts";
import { deploymentDatabaseContext, revisionSecretsContext } from "../encryption/sealed-columns.ts";
import { agentEnvironment, resourcesOf, scaleOf, takesPlatformKey } from "../runtimes/agent-environment.ts";
import type { Addresses, LaunchSpec } from "../runtimes/launch-spec.ts";
import type { DeploymentTracing, TraceTarget } from "../tracing/deployment-tracing.ts";

/** How long a built deployment may take from the storage to this machine. */
const fetchMs = 10 * 60_000;

/** What was built may have to come from the storage first, which `onFetch` tells. It is given up with the signal. */
export type Fetching = { signal: AbortSignal; onFetch?: () => Promise<void> };

export type LaunchPlannerOptions = {
  shelf: Pick<ArtifactShelf, "find">;
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  /** The platform's own database; deployments get theirs on the same server. */
  databaseUrl: string;
  /** What of the machine's environment a server may see. */
  environment: Record<string, string>;
  /** For servers whose resource specification sets none; null for no limit. */
  defaultMemoryBytes: number | null;
  urlOf(deployment: Deployment): string;
  tracing: Pick<DeploymentTracing, "target">;
  /** As the runtime says. */
  readsClusterSecrets: boolean;
};

/** Everything a start needs, gathered from the revision as it was made. */
export class LaunchPlanner {
  readonly #options: LaunchPlannerOptions;

  constructor(options: LaunchPlannerOptions) {
    this.#options = options;
  }

  async plan(
    deployment: Deployment,
    revision: Revision,
    attempt: number,
    fetching: Fetching,
  ): Promise<LaunchSpec> {
    const secrets = this.#secretsOf(revision);
    const secretReferences = this.#referencesOf(revision);
    const known = [...secrets, ...asSecrets(secretReferences)];
    const databaseUrl = this.#databaseUrlOf(deployment);
    const tracing = await this.#options.tracing.target(deployment);
    const config = revision.source_revision_config;
    const resources = resourcesOf(revision.build_config.resource_spec, this.#options.defaultMemoryBytes);
    return {
      deploymentId: deployment.id,
      workspaceId: deployment.workspace_id,
      revisionId: revision.id,
      attempt,
      folder: isBuilt(revision.source) ? await this.#folderOf(revision, fetching) : null,
      configPath: config.graph_config_path ?? "langgraph.json",
      image: isBuilt(revision.source) ? null : config.image_uri,
      pinned:
        revision.image_reference === null || revision.image_digest === null
          ? null
          : { reference: revision.image_reference, digest: revision.image_digest },
      resources,
      scale: scaleOf(revision.build_config.resource_spec),
      addresses: this.#addressesOf(deployment, tracing),
      tracingKeyId: tracing && takesPlatformKey(known) ? tracing.keyId : null,
      secrets: this.#hidden(deployment, secrets, tracing),
      secretReferences,
      namespace: this.#namespaceOf(revision),
      environment: (place) =>
        agentEnvironment(this.#options.environment, secrets, {
          deploymentId: deployment.id,
          deploymentName: deployment.name,
          workspaceId: deployment.workspace_id,
          revisionId: revision.id,
          ...place,
          resources,
          url: this.#options.urlOf(deployment),
          databaseUrl,
          repoUrl: revision.source === "github" ? revision.build_config.repo_url : null,
          repoRef: config.repo_ref,
          commitSha: revision.repo_commit_sha,
          ...{ tracing, secretReferences },
        }),
    };
  }

  /** What a server that is found again was started with, and what is cut out of its log. */
  async facts(
    deployment: Deployment,
    revision: Revision,
  ): Promise<{ addresses: Addresses; secrets: string[] }> {
    const tracing = await this.#options.tracing.target(deployment);
    return {
      addresses: this.#addressesOf(deployment, tracing),
      secrets: this.#hidden(deployment, this.#secretsOf(revision), tracing),
    };
  }

  ownDatabase(deployment: Deployment): OwnDatabase {
    const context = deploymentDatabaseContext(deployment.id);
    const password = this.#options.secretBox.open(deployment.database_password_sealed, context);
    return { name: deployment.database_name, password };
  }

  async #folderOf(revision: Revision, { signal, onFetch }: Fetching): Promise<string> {
    const artifact = revision.artifact_key
      ? await this.#options.shelf.find(
          revision.workspace_id,
          revision.artifact_key,
          AbortSignal.any([signal, AbortSignal.timeout(fetchMs)]),
          onFetch,
        )
      : undefined;
    if (artifact) return artifact.path;
    throw new AppError({
      code: "runtime.artifact_missing",
      kind: "conflict",
      message: "The build of this revision was removed. Redeploy it: it is built again from the same commit.",
    });
  }

  /** Short values are words people use; cutting them out would garble the log and hide nothing. */
  #hidden(deployment: Deployment, secrets: readonly Secret[], tracing: TraceTarget | null): string[] {
    return [
      this.ownDatabase(deployment).password,
      ...(tracing ? [tracing.apiKey] : []),
      ...secrets.map(({ value }) => value).filter((value) => value.length >= 8),
    ];
  }

  #secretsOf({ id, secrets_sealed }: Revision): Secret[] {
    return JSON.parse(this.#options.secretBox.open(secrets_sealed, revisionSecretsContext(id))) as Secret[];
  }

  #referencesOf({ build_config: { secret_references: references = [] } }: Revision) {
    if (references.length === 0 || this.#options.readsClusterSecrets) return references;
    throw new AppError({
      code: "runtime.references_unsupported",
      kind: "invalid",
      message:
        "Its secret_references name Secrets of a Kubernetes cluster, and servers are not started with TREADLE_RUNTIME=kubernetes here. Send the values as secrets.",
    });
  }

  #namespaceOf({ build_config: { k8s_namespace: namespace = null } }: Revision): string | null {
    if (namespace === null || this.#options.readsClusterSecrets) return namespace;
    throw new AppError({
      code: "runtime.namespace_refused",
      kind: "invalid",
      message: `It asks for the namespace ${namespace} of a Kubernetes cluster, and servers are not started with TREADLE_RUNTIME=kubernetes here. Leave listener_config out.`,
    });
  }

  #databaseUrlOf(deployment: Deployment): string {
    return ownDatabaseUrl(this.#options.databaseUrl, this.ownDatabase(deployment));
  }

  #addressesOf(deployment: Deployment, tracing: TraceTarget | null): Addresses {
    return {
      database: this.#databaseUrlOf(deployment),
      own: this.#options.urlOf(deployment),
      traces: tracing?.endpoint ?? null,
    };
  }
}
