import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
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
} from "../desired-state/deployment.ts";
import * as store from "../desired-state/deployment-store.ts";
import type { Source, SourceRevisionConfig } from "../desired-state/revision.ts";
import type { RevisionMaker } from "../desired-state/revision-maker.ts";
import { announceDeployment, readRevision } from "../desired-state/revision-store.ts";
import type { SecretReference } from "../desired-state/secret-references.ts";
import { type Secret, secretMask } from "../desired-state/secret-rules.ts";
import { deploymentDatabaseContext } from "../encryption/sealed-columns.ts";
import { isolationMissing } from "../sandbox/isolation.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import { checkReferences } from "./deployment-references.ts";
import {
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
import type { DeploymentSecrets } from "./deployment-secrets.ts";
import type { DeploymentViews } from "./deployment-views.ts";
import type { DeploymentView } from "./deployment-wire.ts";

export type DeploymentServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  secrets: DeploymentSecrets;
  views: DeploymentViews;
  revisions: RevisionMaker;
  rules: RuleSettings;
  /** Throws when a repository's address may not be used from here. */
  checkAddress(repoUrl: string): Promise<void>;
  /** Why nothing may be deployed on this machine; null when it may. */
  refusal(): Promise<string | null>;
  tracing: Pick<DeploymentTracing, "ensureProject">;
};

export type NewDeployment = {
  name: string;
  source: Source;
  source_config: Partial<SourceConfig>;
  source_revision_config: Partial<SourceRevisionConfig>;
  secrets: Secret[];
  secret_references?: SecretReference[] | null | undefined;
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

/** Makes, changes and finds deployments. What is to run follows from their revisions. */
export class DeploymentService {
  readonly #options: DeploymentServiceOptions;

  constructor(options: DeploymentServiceOptions) {
    this.#options = options;
  }

  async get(caller: Caller, id: string): Promise<DeploymentView> {
    const { sql } = this.#options.database;
    return this.#options.views.one(sql, await this.#load(sql, caller, id));
  }

  async list(caller: Caller, filter: store.DeploymentFilter): Promise<DeploymentView[]> {
    const { sql } = this.#options.database;
    return this.#options.views.many(sql, await store.listDeployments(sql, caller.workspaceId, filter));
  }

  load(caller: Caller, id: string): Promise<Deployment> {
    return this.#load(this.#options.database.sql, caller, id);
  }

  countFree(caller: Caller): Promise<number> {
    return store.countDeployments(this.#options.database.sql, caller.workspaceId);
  }

  async create(caller: Caller, input: NewDeployment): Promise<DeploymentView> {
    const { database, clock, secretBox, rules, secrets } = this.#options;
    const config = mergeSourceConfig(emptySourceConfig, input.source_config);
    // What a listener runs, it also builds: its machine and its network count.
    const isHere = config.listener_id === null;
    const refusal = isHere ? await this.#options.refusal() : null;
    if (refusal !== null) throw isolationMissing(refusal);
    const id = newId();
    const revisionConfig = mergeRevisionConfig(emptyRevisionConfig, input.source_revision_config);
    checkStartable(input.source, config, revisionConfig, rules);
    checkSource(input.source, config, revisionConfig, rules);
    if (input.source === "github" && !config.repo_url) {
      throw refused("source_config.repo_url is required for the source github.");
    }
    if (config.repo_url && isHere) await this.#options.checkAddress(config.repo_url);
    checkSecrets(input.secrets, rules);
    checkSecretReferences(input.secret_references ?? [], input.secrets, rules);
    const masked = input.secrets.find(({ value }) => value === secretMask);
    if (masked)
      throw refused(`The value of the secret ${masked.name} is only the mask. Send the value itself.`);
    const now = clock.now();
    await database.transaction(async (tx) => {
      const secretReferences = input.secret_references ?? [];
      const wanted = { config, revision: revisionConfig, secretReferences, isNew: true };
      await checkReferences(tx, caller, id, wanted, rules);
      const inserted = await store.insertDeployment(tx, {
        id,
        workspace_id: caller.workspaceId,
        name: input.name,
        slug: slugOf(input.name, id),
        source: input.source,
        source_config: config,
        source_revision_config: revisionConfig,
        tracked_repo_ref: revisionConfig.repo_ref,
        secrets_sealed: secrets.seal(id, input.secrets),
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
      const deployment = await this.#load(tx, caller, id);
      if (isBuildable(input.source, revisionConfig)) {
        await this.#options.revisions.make(tx, deployment, {
          secrets: input.secrets,
          createdBy: caller.userId,
        });
      }
    });
    const projectId = await this.#options.tracing.ensureProject(caller.workspaceId, input.name);
    if (projectId !== null) await store.saveTracingProject(database.sql, id, projectId);
    return this.#options.views.one(database.sql, await this.#load(database.sql, caller, id));
  }

  /** Changes the deployment; `always` makes a revision even where nothing that runs has changed. */
  async change(
    caller: Caller,
    id: string,
    patch: DeploymentPatch,
    always = false,
  ): Promise<DeploymentView & { revisionId: string | null }> {
    const { database, clock, rules } = this.#options;
    const { repo_url: repoUrl } = patch.source_config ?? {};
    // Host names are resolved here, which must not delay other changes of the deployment.
    if (repoUrl) {
      const { source_config: now } = await this.#load(database.sql, caller, id);
      if (repoUrl !== now.repo_url && now.listener_id === null) await this.#options.checkAddress(repoUrl);
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
      const secretReferences = patch.secret_references ?? current.secret_references ?? [];
      const wanted = { config, revision: revisionConfig, secretReferences, isNew: false };
      await checkReferences(tx, caller, id, wanted, rules);
      const secrets = this.#options.secrets.next(current, patch.secrets);
      checkSecretReferences(secretReferences, secrets, rules);
      await store.saveDeployment(
        tx,
        {
          id,
          display_name: patch.display_name ?? current.display_name,
          source_config: config,
          source_revision_config: revisionConfig,
          tracked_repo_ref:
            patch.tracked_repo_ref ?? patch.source_revision_config?.repo_ref ?? current.tracked_repo_ref,
          secrets_sealed: patch.secrets ? this.#options.secrets.seal(id, secrets) : current.secrets_sealed,
          secret_references: secretReferences.length === 0 ? null : secretReferences,
          route_through_gateway: patch.route_through_gateway ?? current.route_through_gateway,
          deployment_tier: patch.deployment_tier ?? current.deployment_tier,
          compute_tier: patch.compute_tier ?? current.compute_tier,
          database_tier: patch.database_tier ?? current.database_tier,
        },
        clock.now(),
      );
      let revisionId: string | null = null;
      if (
        (always || source !== before || needsRevision(patch, current.source_config)) &&
        isBuildable(source, revisionConfig)
      ) {
        const next = await this.#load(tx, caller, id);
        const kept = always || source !== before || asksForSource(patch) ? null : await commitOf(tx, current);
        revisionId = await this.#options.revisions.make(tx, next, {
          ...{ source, secrets, createdBy: caller.userId },
          ...(kept === null ? {} : { commitSha: kept, because: keptText(kept) }),
        });
      } else if (always)
        throw refused("There is nothing to build yet: upload a source or name an image first.");
      // Its settings may now let it sleep, or keep it awake.
      else await announceDeployment(tx, id);
      return { ...(await this.#options.views.one(tx, await this.#load(tx, caller, id))), revisionId };
    });
  }

  async #load(sql: Sql, caller: Caller, id: string): Promise<Deployment> {
    const found = await store.findDeployment(sql, caller.workspaceId, id);
    if (!found) throw deploymentNotFound(id);
    return found;
  }
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

function keptText(commitSha: string): string {
  return `Deploys commit ${commitSha} again. For the newest commit, send repo_ref or POST …/revisions.`;
}
