import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { errorMessage } from "../../platform/errors.ts";
import { newSecret } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { cancelBuild } from "../desired-state/build-jobs.ts";
import { databaseNameOf, emptyRevisionConfig } from "../desired-state/deployment.ts";
import {
  insertDeployment,
  markDeleted,
  markLatest,
  saveDesiredState,
} from "../desired-state/deployment-store.ts";
import { isOpen } from "../desired-state/revision.ts";
import { announceDeployment, insertRevision, moveRevision } from "../desired-state/revision-store.ts";
import {
  deploymentDatabaseContext,
  deploymentSecretsContext,
  revisionSecretsContext,
  tracingKeyContext,
} from "../encryption/sealed-columns.ts";
import type {
  RevisionSecrets,
  RevisionSpec,
  WantedDeployment,
  WantedState,
} from "../listener-api/listener-wire.ts";
import { saveTracingKey } from "../tracing/tracing-key-store.ts";
import {
  holdEpoch,
  type LocalRevision,
  listLocalRevisions,
  listMirrored,
  type Mirrored,
  markMirrored,
  reviveDeployment,
  saveEpoch,
  saveFollowedRestart,
  savePurgeAfter,
} from "./mirror-store.ts";
import { isLeaseLost, leaseLost, type PlatformClient } from "./platform-client.ts";

export type MirrorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  client: Pick<PlatformClient, "secretsOf">;
  workspaceId: string;
  /** How long data is kept of a deployment that the platform does not know any more. */
  purgeAfterMs: number;
};

/** The platform renews them; this place only follows. */
const never = new Date("9999-01-01T00:00:00Z");

/** A purge begins no earlier than it was set for; what is this near to it is left to it. */
const purgeMarginMs = 60_000;

/**
 * Writes what the platform wants into this place's own rows, which its reconciler follows as it does any. Every write
 * belongs to a lease: several processes may have this database, and one that was paused may still hold an older answer.
 */
export class Mirror {
  readonly #options: MirrorOptions;
  #epoch = 0;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /** With a new lease. Whoever has an earlier one writes no more, and finds out when it tries to. */
  async begin(epoch: number): Promise<void> {
    await saveEpoch(this.#options.database.sql, epoch);
    this.#epoch = epoch;
  }

  /** False when some of it could not be written and is to be tried again. */
  async follow(wanted: WantedState): Promise<boolean> {
    const local = new Map((await listMirrored(this.#options.database.sql)).map((row) => [row.id, row]));
    const kept = new Set(wanted.deployments.map(({ id }) => id));
    const purgeAt = new Map(wanted.deleted.map(({ id, purge_after }) => [id, new Date(purge_after)]));
    // First: another deployment may have the name of one that is gone.
    for (const row of local.values()) if (!kept.has(row.id)) await this.#remove(row, purgeAt.get(row.id));
    let complete = true;
    for (const deployment of wanted.deployments) {
      try {
        await this.#keep(deployment, local.get(deployment.id));
      } catch (error) {
        if (isLeaseLost(error)) throw error;
        complete = false;
        this.#options.logger.warn(
          { deployment: deployment.id, reason: errorMessage(error) },
          "a deployment of the platform could not be taken over, trying again",
        );
      }
    }
    return complete;
  }

  async #remove(row: Mirrored, purgeAt: Date | undefined): Promise<void> {
    const { clock, workspaceId, purgeAfterMs } = this.#options;
    const now = clock.now();
    if (row.deleted_at !== null && (!purgeAt || purgeAt.getTime() === row.purge_after?.getTime())) return;
    await this.#write(async (tx) => {
      const purgeAfter = purgeAt ?? new Date(now.getTime() + purgeAfterMs);
      if (row.deleted_at === null)
        await markDeleted(tx, workspaceId, row.id, { now, purgeAfter, deleteTracingProject: false });
      else await savePurgeAfter(tx, row.id, purgeAfter);
      await announceDeployment(tx, row.id);
    });
  }

  async #keep(wanted: WantedDeployment, known: Mirrored | undefined): Promise<void> {
    const { database } = this.#options;
    if (known && this.#isGoing(known)) await this.#letGo(known);
    const local = await listLocalRevisions(database.sql, wanted.id);
    const missing = wanted.revisions.filter(({ id }) => !local.some((each) => each.id === id));
    const secrets = await this.#secretsOf(missing);
    const tracing = await this.#tracingOf(wanted, known, secrets);
    const isSame = isUnchanged(wanted, known, local);
    if (isSame && missing.length === 0 && tracing === null) return;
    await this.#write(async (tx) => {
      if (!known) await this.#insert(tx, wanted);
      else if (known.deleted_at !== null) await this.#revive(tx, wanted);
      await this.#saveState(tx, wanted, known);
      if (tracing) await this.#saveTracing(tx, wanted, tracing);
      for (const revision of missing) await this.#insertRevision(tx, wanted, revision, secrets);
      await this.#interrupt(tx, wanted, local);
      await announceDeployment(tx, wanted.id);
    });
  }

  async #write(work: (tx: Sql) => Promise<void>): Promise<void> {
    await this.#options.database.transaction(async (tx) => {
      if (!(await holdEpoch(tx, this.#epoch)))
        throw leaseLost("Another process follows the platform in this database now.");
      await work(tx);
    });
  }

  #isGoing({ deleted_at, purge_after }: Mirrored): boolean {
    return deleted_at !== null && (purge_after === null || purge_after <= this.#stillThere());
  }

  #stillThere(): Date {
    return new Date(this.#now().getTime() + purgeMarginMs);
  }

  /** Part of it may be gone already: it goes first, and is then taken over as a new one. */
  async #letGo({ id, purge_after }: Mirrored): Promise<never> {
    const now = this.#now();
    if (purge_after === null || purge_after > now)
      await this.#write(async (tx) => {
        await savePurgeAfter(tx, id, now);
        await announceDeployment(tx, id);
      });
    throw new Error("It was deleted here and is being removed. It is taken over again when that is done.");
  }

  /**
   * What its removal has interrupted begins again; the rest is as it was. Which these are is read here and not before:
   * the reconciler interrupts until the deployment is revived.
   */
  async #revive(tx: Sql, wanted: WantedDeployment): Promise<void> {
    const now = this.#now();
    if (!(await reviveDeployment(tx, wanted, { now, stillThere: this.#stillThere() })))
      throw new Error("It is being removed here. It is taken over again when that is done.");
    for (const { id } of wanted.revisions) {
      const message = "The deployment is wanted here again.";
      await moveRevision(tx, id, { status: "QUEUED", message, from: ["INTERRUPTED"] }, now);
    }
  }

  async #secretsOf(revisions: readonly RevisionSpec[]): Promise<Map<string, RevisionSecrets>> {
    const given = new Map<string, RevisionSecrets>();
    for (const { id } of revisions) given.set(id, await this.#options.client.secretsOf(id));
    return given;
  }

  /** The key that servers send traces with from now on; null where they have it. */
  async #tracingOf(
    { tracing_key_id: keyId, revisions }: WantedDeployment,
    known: Mirrored | undefined,
    given: Map<string, RevisionSecrets>,
  ): Promise<RevisionSecrets["tracing"]> {
    if (keyId === null || keyId === known?.tracing_key_id) return null;
    const [first] = given.values();
    const revision = revisions.at(-1);
    if (!first && !revision) return null;
    return (first ?? (await this.#options.client.secretsOf(revision!.id))).tracing;
  }

  async #insert(tx: Sql, { id, name, slug, source, revisions }: WantedDeployment): Promise<void> {
    const { secretBox, clock, workspaceId } = this.#options;
    const spec = revisions.at(-1);
    const inserted = await insertDeployment(tx, {
      ...{ id, workspace_id: workspaceId, name, slug, source },
      source_config: {
        ...{ integration_id: null, deployment_type: null, build_on_push: false, custom_url: null },
        ...{ listener_id: null, listener_config: null },
        repo_url: spec?.build_config.repo_url ?? null,
        install_command: spec?.build_config.install_command ?? null,
        build_command: spec?.build_config.build_command ?? null,
        // The revision has it. The deployment's own would let it sleep, which the platform is not told.
        resource_spec: null,
      },
      source_revision_config: spec?.source_revision_config ?? emptyRevisionConfig,
      tracked_repo_ref: null,
      secrets_sealed: secretBox.seal("[]", deploymentSecretsContext(id)),
      secret_references: null,
      shareable: false,
      route_through_gateway: false,
      database_name: databaseNameOf(id),
      database_password_sealed: secretBox.seal(newSecret(24), deploymentDatabaseContext(id)),
      createdBy: null,
      now: clock.now(),
    });
    if (!inserted) throw new Error(`This place has another deployment with the name ${name}.`);
    await markMirrored(tx, id);
  }

  async #saveState(tx: Sql, wanted: WantedDeployment, known: Mirrored | undefined): Promise<void> {
    const askedAt = wanted.restart_requested_at === null ? null : new Date(wanted.restart_requested_at);
    const isAsked = askedAt !== null && askedAt.getTime() !== known?.mirrored_restart_at?.getTime();
    const state = wanted.desired_state;
    // By this place's own clock, which its servers were started by. A new one has nothing to restart.
    if (isAsked || state !== (known?.desired_state ?? "running"))
      await saveDesiredState(
        tx,
        wanted.id,
        { state, restart: isAsked && known !== undefined, sleep: "awake" },
        this.#now(),
      );
    if (isAsked) await saveFollowedRestart(tx, wanted.id, askedAt);
  }

  async #saveTracing(
    tx: Sql,
    { id, name }: WantedDeployment,
    { key_id, api_key }: NonNullable<RevisionSecrets["tracing"]>,
  ): Promise<void> {
    const key_sealed = this.#options.secretBox.seal(api_key, tracingKeyContext(id));
    const row = { api_key_id: key_id, project: name, key_sealed, renew_at: never };
    await saveTracingKey(tx, id, row, this.#now());
  }

  /** What it begins with is on the platform's timeline already. */
  async #insertRevision(
    tx: Sql,
    { id: deploymentId }: WantedDeployment,
    spec: RevisionSpec,
    given: Map<string, RevisionSecrets>,
  ): Promise<void> {
    const { secretBox, workspaceId } = this.#options;
    const secrets = JSON.stringify(given.get(spec.id)?.secrets ?? []);
    await insertRevision(tx, {
      ...spec,
      deployment_id: deploymentId,
      workspace_id: workspaceId,
      status: spec.number === 1 ? "CREATING" : "QUEUED",
      artifact_key: null,
      secrets_sealed: secretBox.seal(secrets, revisionSecretsContext(spec.id)),
      createdBy: null,
      now: this.#now(),
    });
    await markLatest(tx, deploymentId, spec.id, this.#now());
  }

  /** What is on its way here and not there was interrupted there. */
  async #interrupt(tx: Sql, wanted: WantedDeployment, local: readonly LocalRevision[]): Promise<void> {
    for (const { id } of interrupted(wanted, local)) {
      // The build first, as everybody who locks both does.
      await cancelBuild(tx, id);
      const move = { status: "INTERRUPTED" as const, message: "Interrupted by a request." };
      await moveRevision(tx, id, move, this.#now());
    }
  }

  #now(): Date {
    return this.#options.clock.now();
  }
}

export function interrupted(
  { revisions }: Pick<WantedDeployment, "revisions">,
  local: readonly LocalRevision[],
): LocalRevision[] {
  const wanted = new Set(revisions.map(({ id }) => id));
  return local.filter(({ id, status }) => isOpen(status) && !wanted.has(id));
}

function isUnchanged(
  wanted: WantedDeployment,
  known: Mirrored | undefined,
  local: readonly LocalRevision[],
): boolean {
  if (!known || known.deleted_at !== null || known.desired_state !== wanted.desired_state) return false;
  const asked = wanted.restart_requested_at;
  const isFollowed = asked === null || new Date(asked).getTime() === known.mirrored_restart_at?.getTime();
  return isFollowed && interrupted(wanted, local).length === 0;
}
