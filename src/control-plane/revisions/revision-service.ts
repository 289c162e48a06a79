import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { deploymentNotFound, revisionNotFound } from "../deployments/deployment-rules.ts";
import type { DeploymentService } from "../deployments/deployment-service.ts";
import type { DeploymentView } from "../deployments/deployment-wire.ts";
import { cancelBuild } from "../desired-state/build-jobs.ts";
import { type DeploymentPatch, mergeSourceConfig } from "../desired-state/deployment.ts";
import { lockDeployment, saveDeployment } from "../desired-state/deployment-store.ts";
import { isOpen, type Revision, type RevisionEvent } from "../desired-state/revision.ts";
import type { RevisionMaker } from "../desired-state/revision-maker.ts";
import * as store from "../desired-state/revision-store.ts";
import type { Secret } from "../desired-state/secret-rules.ts";
import { deploymentSecretsContext, revisionSecretsContext } from "../encryption/sealed-columns.ts";
import { type Exits, noExits, readExits } from "../runtimes/exit-store.ts";

export type RevisionView = { revision: Revision; events: RevisionEvent[]; exits: Exits };

export type RevisionServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  deployments: DeploymentService;
  revisions: RevisionMaker;
};

export class RevisionService {
  readonly #options: RevisionServiceOptions;

  constructor(options: RevisionServiceOptions) {
    this.#options = options;
  }

  async get(caller: Caller, deploymentId: string, id: string): Promise<RevisionView> {
    return (await this.#withEvents([await this.load(caller, deploymentId, id)]))[0]!;
  }

  async load(caller: Caller, deploymentId: string, id: string): Promise<Revision> {
    const found = await store.findRevision(this.#options.database.sql, caller.workspaceId, deploymentId, id);
    if (found) return found;
    await this.#options.deployments.load(caller, deploymentId);
    throw revisionNotFound(id);
  }

  async list(
    caller: Caller,
    deploymentId: string,
    filter: {
      limit: number;
      offset: number;
      statuses?: string[] | undefined;
      hasListener?: boolean | undefined;
    },
  ) {
    const { source_config } = await this.#options.deployments.load(caller, deploymentId);
    const { hasListener } = filter;
    if (hasListener !== undefined && hasListener !== (source_config.listener_id !== null)) return [];
    return this.#withEvents(await store.listRevisions(this.#options.database.sql, deploymentId, filter));
  }

  async create(caller: Caller, deploymentId: string, patch: DeploymentPatch): Promise<RevisionView> {
    const { revisionId } = await this.#options.deployments.change(caller, deploymentId, patch, true);
    return this.get(caller, deploymentId, revisionId!);
  }

  /** The old revision's source, commit, commands and secrets, as a new revision. */
  async redeploy(caller: Caller, deploymentId: string, id: string): Promise<DeploymentView> {
    const old = await this.load(caller, deploymentId, id);
    const secrets = JSON.parse(
      this.#options.secretBox.open(old.secrets_sealed, revisionSecretsContext(id)),
    ) as Secret[];
    await this.#options.database.transaction(async (tx) => {
      const deployment = await lockDeployment(tx, caller.workspaceId, deploymentId);
      if (!deployment) throw deploymentNotFound(deploymentId);
      const { install_command, build_command, resource_spec, secret_references } = old.build_config;
      const sealed = this.#options.secretBox.seal(
        JSON.stringify(secrets),
        deploymentSecretsContext(deploymentId),
      );
      const restored = {
        ...deployment,
        source_config: mergeSourceConfig(
          { ...deployment.source_config, install_command, build_command, resource_spec },
          {},
        ),
        source_revision_config: old.source_revision_config,
        secrets_sealed: sealed,
        secret_references: secret_references ?? null,
      };
      await saveDeployment(tx, restored, this.#options.clock.now());
      await this.#options.revisions.make(tx, restored, {
        source: old.source,
        secrets,
        createdBy: caller.userId,
        sourceRevisionConfig: old.source_revision_config,
        buildConfig: old.build_config,
        commitSha: old.repo_commit_sha,
        redeployOf: old,
        because: `Redeploys revision ${old.number}.`,
      });
    });
    return this.#options.deployments.get(caller, deploymentId);
  }

  async interrupt(caller: Caller, deploymentId: string, id: string): Promise<RevisionView> {
    const revision = await this.load(caller, deploymentId, id);
    const message = "Interrupted by a request.";
    const moved =
      isOpen(revision.status) &&
      (await this.#options.database.transaction(async (tx) => {
        // The build first, as everybody who locks both does.
        await cancelBuild(tx, id);
        return store.moveRevision(tx, id, { status: "INTERRUPTED", message }, this.#options.clock.now());
      }));
    if (!moved) {
      const { status } = await this.load(caller, deploymentId, id);
      throw new AppError({
        code: "revision.finished",
        kind: "conflict",
        message: `Revision ${id} cannot be interrupted: it is ${status} already.`,
      });
    }
    return this.get(caller, deploymentId, id);
  }

  async #withEvents(revisions: Revision[]): Promise<RevisionView[]> {
    const ids = revisions.map(({ id }) => id);
    const events = await store.listEvents(this.#options.database.sql, ids);
    const exits = await readExits(this.#options.database.sql, ids, this.#options.clock.now());
    return revisions.map((revision) => ({
      revision,
      events: events.filter((event) => event.revision_id === revision.id),
      exits: exits.get(revision.id) ?? noExits,
    }));
  }
}
