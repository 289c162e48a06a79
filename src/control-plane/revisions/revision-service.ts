import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { deploymentNotFound, revisionNotFound } from "../deployments/deployment-rules.ts";
import type { DeploymentService } from "../deployments/deployment-service.ts";
import type { DeploymentView } from "../deployments/deployment-wire.ts";
import { type DeploymentPatch, mergeSourceConfig } from "../desired-state/deployment.ts";
import { lockDeployment, saveDeployment } from "../desired-state/deployment-store.ts";
import { isOpen, type Revision, type RevisionEvent } from "../desired-state/revision.ts";
import type { RevisionMaker } from "../desired-state/revision-maker.ts";
import * as store from "../desired-state/revision-store.ts";
import type { Secret } from "../desired-state/secret-rules.ts";
import { deploymentSecretsContext, revisionSecretsContext } from "../encryption/sealed-columns.ts";
import { type Exits, noExits, readExits } from "../runtimes/exit-store.ts";

export type RevisionView = { revision: Revision; events: RevisionEvent[]; exits: Exits };

export function createRevisionService(options: {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  deployments: DeploymentService;
  revisions: RevisionMaker;
}) {
  const { database, clock, secretBox, deployments } = options;

  async function load(caller: Caller, deploymentId: string, id: string): Promise<Revision> {
    const found = await store.findRevision(database.sql, caller.workspaceId, deploymentId, id);
    if (found) return found;
    await deployments.load(caller, deploymentId);
    throw revisionNotFound(id);
  }

  async function withEvents(revisions: Revision[]): Promise<RevisionView[]> {
    const ids = revisions.map(({ id }) => id);
    const events = await store.listEvents(database.sql, ids);
    const exits = await readExits(database.sql, ids, clock.now());
    return revisions.map((revision) => ({
      revision,
      events: events.filter((event) => event.revision_id === revision.id),
      exits: exits.get(revision.id) ?? noExits,
    }));
  }

  async function get(caller: Caller, deploymentId: string, id: string): Promise<RevisionView> {
    return (await withEvents([await load(caller, deploymentId, id)]))[0]!;
  }

  return {
    get,
    load,
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
      const { source_config } = await deployments.load(caller, deploymentId);
      const { hasListener } = filter;
      if (hasListener !== undefined && hasListener !== (source_config.listener_id !== null)) return [];
      return withEvents(await store.listRevisions(database.sql, deploymentId, filter));
    },

    async create(caller: Caller, deploymentId: string, patch: DeploymentPatch): Promise<RevisionView> {
      const { revisionId } = await deployments.change(caller, deploymentId, patch, true);
      return get(caller, deploymentId, revisionId!);
    },

    /** The old revision's source, commit, commands and secrets, as a new revision. */
    async redeploy(caller: Caller, deploymentId: string, id: string): Promise<DeploymentView> {
      const old = await load(caller, deploymentId, id);
      const secrets = JSON.parse(secretBox.open(old.secrets_sealed, revisionSecretsContext(id))) as Secret[];
      await database.transaction(async (tx) => {
        const deployment = await lockDeployment(tx, caller.workspaceId, deploymentId);
        if (!deployment) throw deploymentNotFound(deploymentId);
        const { install_command, build_command, resource_spec } = old.build_config;
        const sealed = secretBox.seal(JSON.stringify(secrets), deploymentSecretsContext(deploymentId));
        const restored = {
          ...deployment,
          source_config: mergeSourceConfig(
            { ...deployment.source_config, install_command, build_command, resource_spec },
            {},
          ),
          source_revision_config: old.source_revision_config,
          secrets_sealed: sealed,
        };
        await saveDeployment(tx, restored, clock.now());
        await options.revisions.make(tx, restored, {
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
      return deployments.get(caller, deploymentId);
    },

    async interrupt(caller: Caller, deploymentId: string, id: string): Promise<RevisionView> {
      const revision = await load(caller, deploymentId, id);
      const message = "Interrupted by a request.";
      const moved =
        isOpen(revision.status) &&
        (await database.transaction((tx) =>
          store.moveRevision(tx, id, { status: "INTERRUPTED", message }, clock.now()),
        ));
      if (!moved) {
        const { status } = await load(caller, deploymentId, id);
        throw new AppError({
          code: "revision.finished",
          kind: "conflict",
          message: `Revision ${id} cannot be interrupted: it is ${status} already.`,
        });
      }
      return get(caller, deploymentId, id);
    },
  };
}

export type RevisionService = ReturnType<typeof createRevisionService>;
