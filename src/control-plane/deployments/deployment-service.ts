import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { findIntegration } from "../integrations/integration-store.ts";
import { findListener } from "../listeners/listener-store.ts";
import type { Source, SourceRevisionConfig } from "../revisions/revision.ts";
import type { RevisionMaker } from "../revisions/revision-maker.ts";
import { announceDeployment, readRevision, readRevisions } from "../revisions/revision-store.ts";
import { readExits } from "../runtimes/exit-store.ts";
import { isolationMissing } from "../sandbox/isolation.ts";
import { deploymentDatabaseContext, deploymentSecretsContext } from "../sealed-columns.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import { findUpload } from "../uploads/upload-store.ts";
import {
  asksForSource,
  type Deployment,
  type DeploymentPatch,
  databaseNameOf,
  emptyRevisionConfig,
  isBuildable,
  mergeRevisionConfig,
  mergeSourceConfig,
  needsRevision,
  nextRevisionConfig,
  nextSource,
  type SourceConfig,
  slugOf,
} from "./deployment.ts";
import {
  checkIntegrationHost,
  checkNewSource,
  checkSecretReferences,
  checkSecrets,
  checkSource,
  checkStartable,
  deploymentNotFound,
  type RuleSettings,
  refused,
  refuseImmutable,
  refuseRenaming,
} from "./deployment-rules.ts";
import * as store from "./deployment-store.ts";
import type { DeploymentView } from "./deployment-wire.ts";
import { healthOf } from "./health.ts";
import { readHealth } from "./health-store.ts";
import { keepMasked, type Secret, secretMask } from "./secret-rules.ts";

export type DeploymentServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  revisions: RevisionMaker;
  rules: RuleSettings;
  urlOf(deployment: Pick<Deployment, "slug">): string;
  /** At an origin of its own; null where deployments have none. */
  pageUrlOf(deployment: Pick<Deployment, "slug">): string | null;
  /** Throws when a repository's address may not be used from here. */
  checkAddress(repoUrl: string): Promise<void>;
  /** Why nothing may be deployed on this machine; null when it may. */
  refusal(): Promise<string | null>;
  tracing: Pick<DeploymentTracing, "ensureProject" | "removeProject">;
  /** How long the data of a deleted deployment is kept. */
  purgeAfterMs: number;
};

export type NewDeployment = {
  name: string;
  source: Source;
  source_config: Partial<SourceConfig>;
  source_revision_config: Partial<SourceRevisionConfig>;
  secrets: Secret[];
  secret_references?: unknown[] | null | undefined;
  shareable: boolean;
  route_through_gateway: boolean;
};

const emptySourceConfig: SourceConfig = {
  integration_id: null,
  repo_url: null,
  deployment_type: null,
  build_on_push: null,
  custom_url: null,
  resource_spec: null,
  listener_id: null,
  listener_config: null,
  install_command: null,
  build_command: null,
};

export function createDeploymentService(options: DeploymentServiceOptions) {
  const { database, clock, secretBox, rules } = options;

  const openSecrets = (deployment: Deployment) =>
    JSON.parse(
      secretBox.open(deployment.secrets_sealed, deploymentSecretsContext(deployment.id)),
    ) as Secret[];
  const sealSecrets = (id: string, secrets: Secret[]) =>
    secretBox.seal(JSON.stringify(secrets), deploymentSecretsContext(id));

  async function view(sql: Sql, deployment: Deployment): Promise<DeploymentView> {
    return (await views(sql, [deployment]))[0]!;
  }

  async function views(sql: Sql, deployments: Deployment[]): Promise<DeploymentView[]> {
    const ids = deployments.map((row) => row.latest_revision_id).filter((id) => id !== null);
    const latest = new Map((await readRevisions(sql, ids)).map((revision) => [revision.id, revision]));
    const rows = await readHealth(
      sql,
      deployments.map((row) => row.id),
    );
    const active = deployments.map((row) => row.active_revision_id).filter((id) => id !== null);
    const exits = await readExits(sql, active, clock.now());
    const activeOf = new Map(deployments.map((row) => [row.id, row.active_revision_id ?? ""]));
    const health = new Map(
      rows.map((row) => [row.deployment_id, healthOf(row, exits.get(activeOf.get(row.deployment_id) ?? ""))]),
    );
    return deployments.map((deployment) => ({
      deployment,
      latest: latest.get(deployment.latest_revision_id ?? ""),
      secrets: openSecrets(deployment),
      url: options.urlOf(deployment),
      pageUrl: options.pageUrlOf(deployment),
      health: health.get(deployment.id) ?? healthOf(undefined),
    }));
  }

  async function load(sql: Sql, caller: Caller, id: string): Promise<Deployment> {
    const found = await store.findDeployment(sql, caller.workspaceId, id);
    if (!found) throw deploymentNotFound(id);
    return found;
  }

  async function checkReferences(
    sql: Sql,
    caller: Caller,
    deploymentId: string,
    config: SourceConfig,
    revision: SourceRevisionConfig,
  ) {
    if (config.integration_id) {
      const integration = await findIntegration(sql, caller.workspaceId, config.integration_id);
      if (!integration) {
        throw refused(
          `Integration ID ${config.integration_id} not found. Create it with POST /v1/integrations/github.`,
        );
      }
      checkIntegrationHost(integration, config.repo_url);
    }
    if (config.listener_id && !(await findListener(sql, caller.workspaceId, config.listener_id))) {
      throw refused(`Listener ID ${config.listener_id} not found. Create it with POST /v2/listeners.`);
    }
    const { source_tarball_path: path } = revision;
    if (path && !(await findUpload(sql, deploymentId, path))) {
      throw refused(
        "source_tarball_path must be an object_path this deployment got from POST …/upload-url, uploaded already.",
      );
    }
  }

  async function create(caller: Caller, input: NewDeployment): Promise<DeploymentView> {
    const refusal = await options.refusal();
    if (refusal !== null) throw isolationMissing(refusal);
    const id = newId();
    const config = mergeSourceConfig(emptySourceConfig, input.source_config);
    const revisionConfig = mergeRevisionConfig(emptyRevisionConfig, input.source_revision_config);
    checkStartable(input.source, config, revisionConfig, rules);
    checkSource(input.source, config, revisionConfig, rules);
    if (input.source === "github" && !config.repo_url) {
      throw refused("source_config.repo_url is required for the source github.");
    }
    if (config.repo_url) await options.checkAddress(config.repo_url);
    checkSecrets(input.secrets, rules);
    checkSecretReferences(input.source, config, input.secret_references);
    const masked = input.secrets.find(({ value }) => value === secretMask);
    if (masked)
      throw refused(`The value of the secret ${masked.name} is only the mask. Send the value itself.`);
    const now = clock.now();
    await database.transaction(async (tx) => {
      await checkReferences(tx, caller, id, config, revisionConfig);
      const inserted = await store.insertDeployment(tx, {
        id,
        workspace_id: caller.workspaceId,
        name: input.name,
        slug: slugOf(input.name, id),
        source: input.source,
        source_config: config,
        source_revision_config: revisionConfig,
        tracked_repo_ref: revisionConfig.repo_ref,
        secrets_sealed: sealSecrets(id, input.secrets),
        secret_references: input.secret_references ?? null,
        shareable: input.shareable,
        route_through_gateway: input.route_through_gateway,
        database_name: databaseNameOf(id),
        database_password_sealed: secretBox.seal(newSecret(24), deploymentDatabaseContext(id)),
        createdBy: caller.userId,
        now,
      });
      if (!inserted) {
        throw new AppError({
          code: "deployment.name_taken",
          kind: "conflict",
          message: `A deployment named '${input.name}' already exists.`,
        });
      }
      const deployment = await load(tx, caller, id);
      if (isBuildable(input.source, revisionConfig)) {
        await options.revisions.make(tx, deployment, { secrets: input.secrets, createdBy: caller.userId });
      }
    });
    const projectId = await options.tracing.ensureProject(caller.workspaceId, input.name);
    if (projectId !== null) await store.saveTracingProject(database.sql, id, projectId);
    return view(database.sql, await load(database.sql, caller, id));
  }

  /** Changes the deployment; `always` makes a revision even where nothing that runs has changed. */
  async function change(
    caller: Caller,
    id: string,
    patch: DeploymentPatch,
    always = false,
  ): Promise<DeploymentView & { revisionId: string | null }> {
    const { repo_url: repoUrl } = patch.source_config ?? {};
    // Names are looked up, which must not hold up others who change the deployment.
    if (repoUrl && repoUrl !== (await load(database.sql, caller, id)).source_config.repo_url) {
      await options.checkAddress(repoUrl);
    }
    return database.transaction(async (tx) => {
      const current = await store.lockDeployment(tx, caller.workspaceId, id);
      if (!current) throw deploymentNotFound(id);
      const before = await sourceOf(tx, current);
      const source = nextSource(before, current.source_config, patch);
      const config = mergeSourceConfig(current.source_config, patch.source_config ?? {});
      const revisionConfig = nextRevisionConfig(
        current,
        { before, source },
        patch.source_revision_config ?? {},
      );
      refuseRenaming(current, patch);
      refuseImmutable(current.source_config, patch.source_config ?? {}, source);
      if (source !== before || patch.source_revision_config?.image_uri)
        checkStartable(source, config, revisionConfig, rules);
      checkSource(source, config, revisionConfig, rules);
      if (source !== before) checkNewSource(source, config, revisionConfig);
      checkSecretReferences(source, config, patch.secret_references);
      await checkReferences(tx, caller, id, config, revisionConfig);
      const secrets = nextSecrets(current, patch.secrets);
      await store.saveDeployment(
        tx,
        {
          id,
          display_name: patch.display_name ?? current.display_name,
          source_config: config,
          source_revision_config: revisionConfig,
          tracked_repo_ref:
            patch.tracked_repo_ref ?? patch.source_revision_config?.repo_ref ?? current.tracked_repo_ref,
          secrets_sealed: patch.secrets ? sealSecrets(id, secrets) : current.secrets_sealed,
          secret_references: patch.secret_references ?? current.secret_references,
          route_through_gateway: patch.route_through_gateway ?? current.route_through_gateway,
          deployment_tier: patch.deployment_tier ?? current.deployment_tier,
          compute_tier: patch.compute_tier ?? current.compute_tier,
          database_tier: patch.database_tier ?? current.database_tier,
        },
        clock.now(),
      );
      let revisionId: string | null = null;
      if ((always || source !== before || needsRevision(patch)) && isBuildable(source, revisionConfig)) {
        const next = await load(tx, caller, id);
        const kept = always || source !== before || asksForSource(patch) ? null : await commitOf(tx, current);
        revisionId = await options.revisions.make(tx, next, {
          ...{ source, secrets, createdBy: caller.userId },
          ...(kept === null ? {} : { commitSha: kept, because: keptText(kept) }),
        });
      } else if (always)
        throw refused("There is nothing to build yet: upload a source or name an image first.");
      return { ...(await view(tx, await load(tx, caller, id))), revisionId };
    });
  }

  /** What was built last, so that a change of secrets ships nothing else. */
  async function commitOf(sql: Sql, { latest_revision_id }: Deployment): Promise<string | null> {
    if (latest_revision_id === null) return null;
    return (await readRevision(sql, latest_revision_id))?.repo_commit_sha ?? null;
  }

  /** Where the latest revision came from: other changes keep what is deployed. */
  async function sourceOf(sql: Sql, { source, latest_revision_id }: Deployment): Promise<Source> {
    if (latest_revision_id === null) return source;
    return (await readRevision(sql, latest_revision_id))?.source ?? source;
  }

  function nextSecrets(current: Deployment, given: Secret[] | undefined): Secret[] {
    const before = openSecrets(current);
    if (given === undefined) return before;
    checkSecrets(given, rules);
    const merged = keepMasked(given, before);
    if (Array.isArray(merged)) return merged;
    throw refused(`The secret ${merged.unknown} has no value to keep. Send its value instead of the mask.`);
  }

  async function remove(
    caller: Caller,
    id: string,
    { force, deleteTracingProject }: { force: boolean; deleteTracingProject: boolean },
  ): Promise<void> {
    const now = clock.now();
    const name = await database.transaction(async (tx) => {
      const row = await store.findDeployment(tx, caller.workspaceId, id, { deleted: true });
      if (!row || (row.deleted_at !== null && !force)) throw deploymentNotFound(id);
      if (row.deleted_at !== null) {
        await store.markPurgeable(tx, id, now);
        await announceDeployment(tx, id);
        return row.name;
      }
      if (force)
        throw refused("force is for a deployment that was deleted before. Delete it without force first.");
      const purgeAfter = new Date(now.getTime() + options.purgeAfterMs);
      await store.markDeleted(tx, caller.workspaceId, id, { now, purgeAfter, deleteTracingProject });
      await announceDeployment(tx, id);
      return row.name;
    });
    // Gone for the caller now; once more when its servers have stopped, which may still send the last traces.
    if (deleteTracingProject) await options.tracing.removeProject(caller.workspaceId, name);
  }

  return {
    create,
    change,
    remove,
    async get(caller: Caller, id: string) {
      return view(database.sql, await load(database.sql, caller, id));
    },
    async list(caller: Caller, filter: store.DeploymentFilter) {
      return views(database.sql, await store.listDeployments(database.sql, caller.workspaceId, filter));
    },
    load: (caller: Caller, id: string) => load(database.sql, caller, id),
    /** Reports for each id whether it was there to be deleted. */
    async removeAll(caller: Caller, ids: string[]): Promise<{ deleted: string[]; not_found: string[] }> {
      const deleted: string[] = [];
      const missing: string[] = [];
      for (const id of new Set(ids)) {
        const list = await remove(caller, id, { force: false, deleteTracingProject: false }).then(
          () => deleted,
          (error: unknown) => {
            if (error instanceof AppError && error.kind === "not_found") return missing;
            throw error;
          },
        );
        list.push(id);
      }
      return { deleted, not_found: missing };
    },
    async refuseWhileAny(workspaceId: string): Promise<void> {
      const [first] = await store.listDeployments(database.sql, workspaceId, { limit: 1, offset: 0 });
      if (!first) return;
      throw new AppError({
        code: "workspace.has_deployments",
        kind: "conflict",
        message: `The workspace still has deployments, for example ${first.name}. Delete them first.`,
      });
    },
    countFree: (caller: Caller) => store.countDeployments(database.sql, caller.workspaceId),
  };
}

function keptText(commitSha: string): string {
  return `Ships commit ${commitSha} again. For the newest, name repo_ref or POST …/revisions.`;
}

export type DeploymentService = ReturnType<typeof createDeploymentService>;
