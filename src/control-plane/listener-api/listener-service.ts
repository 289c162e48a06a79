import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { KeyedNotifications } from "../../platform/work/keyed-notifications.ts";
import type { BuildSource } from "../builds/build-request.ts";
import { revisionNotFound } from "../deployments/deployment-rules.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { Revision } from "../desired-state/revision.ts";
import { listenerChannel } from "../desired-state/revision-store.ts";
import type { Secret } from "../desired-state/secret-rules.ts";
import { revisionSecretsContext } from "../encryption/sealed-columns.ts";
import { requireOwnKey } from "../listeners/listener-key-service.ts";
import { knownListener } from "../listeners/listener-routes.ts";
import { findListener } from "../listeners/listener-store.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import { uploadKey } from "../uploads/upload-service.ts";
import { findUpload } from "../uploads/upload-store.ts";
import type { ListenerLeases } from "./lease-service.ts";
import type {
  Recognised,
  RevisionSecrets,
  RevisionSource,
  RevisionSpec,
  WantedDeployment,
  WantedState,
} from "./listener-wire.ts";
import { findGiven, listDeleted, listWanted, listWantedRevisions, markHeld } from "./wanted-store.ts";

export type ListenerServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  leases: ListenerLeases;
  tracing: Pick<DeploymentTracing, "currentKeyId" | "target">;
  blobs: Pick<BlobStore, "get">;
  sourceOf(revision: Revision, signal: AbortSignal): Promise<BuildSource>;
  /** Who sends these credentials; throws where they are nobody's. */
  recognise(headers: Headers): Promise<Caller | null>;
  /** Whether a text is a credential of the platform, valid or not, of whatever workspace. */
  isCredential(text: string): Promise<boolean>;
  hasChosenKeys(): Promise<boolean>;
};

/** Gives listeners what they are to run. It never calls them. */
export class ListenerService {
  readonly #options: ListenerServiceOptions;
  /** A notice wakes the poll of the listener it is about, and no other. */
  readonly #changes: KeyedNotifications;

  constructor(options: ListenerServiceOptions) {
    this.#options = options;
    this.#changes = new KeyedNotifications(options.database, listenerChannel);
  }

  start(): Promise<void> {
    return this.#changes.start();
  }

  stop(): Promise<void> {
    return this.#changes.stop();
  }

  /** Waits for a change; null when there was none. */
  async poll(
    caller: Caller,
    listenerId: string,
    asked: { epoch: number; known: string | null; waitMs: number },
    signal: AbortSignal,
  ): Promise<WantedState | null> {
    const until = performance.now() + asked.waitMs;
    // Who has gone renews no lease.
    while (!signal.aborted) {
      // Before the look: what changes meanwhile ends the wait at once.
      const change = this.#changes.listen(listenerId);
      try {
        const wanted = await this.#wanted(caller, listenerId, asked.epoch);
        if (wanted.version !== asked.known) return wanted;
        const leftMs = until - performance.now();
        if (leftMs <= 0) return null;
        await change.until(leftMs, signal);
      } finally {
        change.end();
      }
    }
    return null;
  }

  async secretsOf(caller: Caller, listenerId: string, revisionId: string, epoch: number) {
    const { secretBox, tracing } = this.#options;
    const { deployment, revision } = await this.#given(caller, listenerId, revisionId, epoch);
    const sealed = secretBox.open(revision.secrets_sealed, revisionSecretsContext(revision.id));
    const target = await tracing.target(deployment);
    return {
      secrets: JSON.parse(sealed) as Secret[],
      tracing: target && { key_id: target.keyId, api_key: target.apiKey },
    } satisfies RevisionSecrets;
  }

  async sourceOf(
    caller: Caller,
    listenerId: string,
    asked: { revisionId: string; epoch: number },
    signal: AbortSignal,
  ): Promise<RevisionSource> {
    const { revision } = await this.#given(caller, listenerId, asked.revisionId, asked.epoch);
    const source = await this.#options.sourceOf(revision, signal);
    if (source.kind === "git") return source;
    const { sha256, bytes } = await this.#uploadOf(revision);
    return { kind: "tarball", sha256, bytes };
  }

  /** The uploaded source of a revision. The reader checks it by what `sourceOf` answered. */
  async archiveOf(
    caller: Caller,
    listenerId: string,
    asked: { revisionId: string; epoch: number },
    signal: AbortSignal,
  ): Promise<Readable> {
    const { revision } = await this.#given(caller, listenerId, asked.revisionId, asked.epoch);
    const { key } = await this.#uploadOf(revision);
    const found = await this.#options.blobs.get(key, { signal });
    if (found === null) throw revisionNotFound(revision.id);
    return found.stream;
  }

  /**
   * Whose credential it is, where that is somebody of the listener's own workspace. Of others it says only that the text is
   * one: whoever has the text could find that out by using it, and the listener must pass it on to no project.
   */
  async recognise(caller: Caller, listenerId: string, headers: Headers): Promise<Recognised> {
    const { database } = this.#options;
    // Without the lease: every process of a listener may serve.
    const { id } = knownListener(await findListener(database.sql, caller.workspaceId, listenerId), {
      listener_id: listenerId,
    });
    await requireOwnKey(database.sql, caller, id);
    const found = await this.#callerWith(headers, caller.workspaceId);
    if (found.caller !== null) return { ...found, is_credential: true };
    const text = headers.get("x-api-key")?.trim();
    if (text && (await this.#options.isCredential(text))) return { ...found, is_credential: true };
    return { ...found, is_credential: false, has_chosen_keys: await this.#options.hasChosenKeys() };
  }

  async #callerWith(headers: Headers, workspaceId: string): Promise<Pick<Recognised, "caller" | "refusal">> {
    const nobody = (refusal: string) => ({ caller: null, refusal });
    try {
      const found = await this.#options.recognise(headers);
      if (!found || found.workspaceId !== workspaceId)
        return nobody("The credential is not one of this workspace.");
      if (found.via === "console" || found.via === "loopback" || found.tracingProject !== undefined)
        return nobody("This credential is not for requests to deployments.");
      return {
        caller: {
          organization_id: found.organizationId,
          user_id: found.userId,
          role: found.role,
          via: found.via,
          scopes: found.scopes ? [...found.scopes] : null,
          deployment_id: found.deploymentId ?? null,
        },
        refusal: null,
      };
    } catch (error) {
      if (error instanceof AppError && (error.kind === "unauthenticated" || error.kind === "forbidden"))
        return nobody(error.message);
      throw error;
    }
  }

  async #uploadOf(revision: Revision): Promise<{ sha256: string; bytes: number; key: string }> {
    const path = revision.source_revision_config.source_tarball_path ?? "";
    const upload = await findUpload(this.#options.database.sql, revision.deployment_id, path);
    if (!upload?.sha256) throw revisionNotFound(revision.id);
    const key = uploadKey(upload.object_path, upload.attempt);
    return { sha256: upload.sha256, bytes: Number(upload.bytes), key };
  }

  async #given(caller: Caller, listenerId: string, revisionId: string, epoch: number) {
    const { database, leases } = this.#options;
    await database.transaction((tx) => leases.require(tx, caller, listenerId, epoch));
    const of = { workspaceId: caller.workspaceId, listenerId, revisionId };
    const found = await findGiven(database.sql, of);
    if (!found) throw revisionNotFound(revisionId);
    return found;
  }

  async #wanted(caller: Caller, listenerId: string, epoch: number): Promise<WantedState> {
    const { database, leases } = this.#options;
    const { workspaceId } = caller;
    const read = await database.transaction(async (tx) => {
      await leases.require(tx, caller, listenerId, epoch);
      const deployments = await listWanted(tx, workspaceId, listenerId);
      await markHeld(
        tx,
        deployments.map(({ id }) => id),
      );
      const revisions = await listWantedRevisions(tx, deployments);
      return { deployments, revisions, deleted: await listDeleted(tx, workspaceId, listenerId) };
    });
    const content = {
      deployments: await Promise.all(
        read.deployments.map((deployment) => this.#toWanted(deployment, read.revisions)),
      ),
      deleted: read.deleted.map(({ id, purge_after }) => ({ id, purge_after: purge_after.toISOString() })),
    };
    const version = createHash("sha256").update(JSON.stringify(content)).digest("hex");
    return { version, ...content };
  }

  async #toWanted(deployment: Deployment, revisions: readonly Revision[]): Promise<WantedDeployment> {
    return {
      id: deployment.id,
      name: deployment.name,
      slug: deployment.slug,
      source: deployment.source,
      desired_state: deployment.desired_state,
      restart_requested_at: deployment.restart_requested_at?.toISOString() ?? null,
      tracing_key_id: await this.#options.tracing.currentKeyId(deployment),
      revisions: revisions.filter(({ deployment_id }) => deployment_id === deployment.id).map(toSpec),
    };
  }
}

function toSpec(revision: Revision): RevisionSpec {
  return {
    id: revision.id,
    number: revision.number,
    source: revision.source,
    source_revision_config: revision.source_revision_config,
    build_config: revision.build_config,
    repo_commit_sha: revision.repo_commit_sha,
    image_reference: revision.image_reference,
    image_digest: revision.image_digest,
    redeploy_of: revision.redeploy_of,
  };
}
