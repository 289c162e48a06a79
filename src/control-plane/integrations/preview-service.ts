import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { type Deployment, databaseNameOf, slugOf } from "../desired-state/deployment.ts";
import {
  findDeployment,
  insertDeployment,
  lockDeployment,
  markDeleted,
  savePolledCommit,
} from "../desired-state/deployment-store.ts";
import type { RevisionMaker } from "../desired-state/revision-maker.ts";
import { announceDeployment } from "../desired-state/revision-store.ts";
import type { Secret } from "../desired-state/secret-rules.ts";
import { deploymentDatabaseContext, deploymentSecretsContext } from "../encryption/sealed-columns.ts";
import type { ListedRequest } from "./git-host.ts";
import { type Integration, repositoryKey } from "./integration.ts";
import * as store from "./preview-store.ts";
import type { PullRequest } from "./pull-request.ts";

export type PreviewServiceOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  revisions: RevisionMaker;
  purgeAfterMs: number;
};

/** Of one deployment at once. */
export const maxPreviews = 10;
export const previewDays = 14;
const dayMs = 24 * 3_600_000;

/** A pull request without a change since then has no preview. */
export function previewCutoff(now: Date): Date {
  return new Date(now.getTime() - previewDays * dayMs);
}

/** What a poll of the host has found. */
export type FoundRequests = { requests: readonly ListedRequest[]; isComplete: boolean; askedAt: Date };

/** `listed`: when it last changed, and when the host was asked. A webhook reports a change as it happens. */
type Followed = Pick<PullRequest, "number" | "branch" | "commitSha" | "isFork"> & {
  listed?: { updatedAt: Date; askedAt: Date };
};

/**
 * A deployment for each open pull request of a deployment that wants them. Code of forks is never deployed: the author
 * of a pull request from a fork may be a stranger.
 */
export class PreviewService {
  readonly #options: PreviewServiceOptions;

  constructor(options: PreviewServiceOptions) {
    this.#options = options;
  }

  /** Returns the revisions it made. */
  async onPullRequest(integration: Integration, request: PullRequest): Promise<string[]> {
    const { database } = this.#options;
    const keys = new Set(request.repositoryUrls.map(repositoryKey).filter((key) => key !== null));
    const made: string[] = [];
    for (const parent of await store.listWithPreviews(
      database.sql,
      integration.workspace_id,
      integration.id,
    )) {
      if (!keys.has(repositoryKey(parent.source_config.repo_url ?? "") ?? "")) continue;
      const id =
        request.action === "remove"
          ? await this.#close(parent, request.number)
          : await this.#follow(parent, request);
      if (id !== null && id !== "full") made.push(id);
    }
    return made;
  }

  /** Brings the previews of a deployment to what was found. False: there are more pull requests than it may have previews. */
  async follow(parent: Deployment, { requests, isComplete, askedAt }: FoundRequests): Promise<boolean> {
    const cutoff = previewCutoff(askedAt);
    const recent = requests.filter(({ updatedAt }) => updatedAt >= cutoff);
    if (isComplete) {
      const open = new Set(recent.map(({ number }) => number));
      const there = await store.listPreviews(this.#options.database.sql, parent.id);
      // One that was made since the host was asked is in no answer of it yet.
      for (const { preview_number: number, created_at: at } of there)
        if (number !== null && !open.has(number) && at < askedAt) await this.#close(parent, number);
    }
    let isAll = true;
    for (const { updatedAt, ...request } of recent.filter(({ isFork }) => !isFork))
      if ((await this.#follow(parent, { ...request, listed: { updatedAt, askedAt } })) === "full")
        isAll = false;
    return isAll;
  }

  /** Removes previews that ended without an event: no push for long, or their parent has previews turned off. */
  async removeEnded(): Promise<void> {
    const { database, clock } = this.#options;
    for (const preview of await store.listEndedPreviews(database.sql, previewCutoff(clock.now())))
      await database.transaction((tx) => this.#remove(tx, preview));
  }

  async #close(parent: Deployment, number: number): Promise<null> {
    await this.#options.database.transaction(async (tx) => {
      const preview = await store.findPreview(tx, parent.id, number);
      if (preview) await this.#remove(tx, preview);
    });
    return null;
  }

  async #remove(tx: Sql, { workspace_id, id }: Deployment): Promise<void> {
    const { clock, purgeAfterMs } = this.#options;
    const now = clock.now();
    const purgeAfter = new Date(now.getTime() + purgeAfterMs);
    await markDeleted(tx, workspace_id, id, { now, purgeAfter, deleteTracingProject: true });
    await announceDeployment(tx, id);
  }

  /** The revision it made, if any; `full`: the deployment has as many previews as it may. */
  #follow(given: Deployment, request: Followed): Promise<string | null | "full"> {
    const { database, clock, logger } = this.#options;
    const { listed } = request;
    return database.transaction(async (tx) => {
      // Held, so that two webhooks make one preview and the bound holds.
      const parent = await lockDeployment(tx, given.workspace_id, given.id);
      if (!parent?.previews) return null;
      const facts = { deployment: parent.id, pullRequest: request.number };
      if (request.isFork) {
        logger.info(facts, "no preview: the code of the pull request is in another repository");
        return null;
      }
      let preview = await store.findPreview(tx, parent.id, request.number);
      if (!preview) {
        if ((await store.countPreviews(tx, parent.id)) >= maxPreviews) {
          // A webhook reports it once, a poll each time.
          if (!listed) logger.warn(facts, `no preview: a deployment has ${maxPreviews} at most`);
          return "full";
        }
        preview = await this.#create(tx, parent, request);
        if (!preview) return null;
      }
      // A webhook was quicker than the answer.
      else if (listed && preview.preview_seen_at && preview.preview_seen_at > listed.askedAt) return null;
      await store.saveSeen(tx, preview.id, listed?.updatedAt ?? clock.now());
      if (preview.polled_commit_sha === request.commitSha) return null;
      await savePolledCommit(tx, preview.id, request.commitSha);
      const shown = { ...preview, secret_references: sharedReferences(parent) };
      return this.#options.revisions.make(tx, shown, {
        secrets: this.#secretsOf(parent),
        createdBy: null,
        commitSha: request.commitSha,
        because: `Pull request ${request.number}: ${request.branch}.`,
      });
    });
  }

  async #create(tx: Sql, parent: Deployment, request: Followed): Promise<Deployment | undefined> {
    const { clock, secretBox } = this.#options;
    const id = newId();
    const name = previewName(parent.name, request);
    const now = clock.now();
    const inserted = await insertDeployment(tx, {
      ...{ id, name, workspace_id: parent.workspace_id, slug: slugOf(name, id), source: "github" },
      source_config: { ...parent.source_config, build_on_push: false, custom_url: null },
      source_revision_config: {
        ...parent.source_revision_config,
        ...{ repo_ref: request.branch, source_tarball_path: null },
      },
      tracked_repo_ref: request.branch,
      secrets_sealed: secretBox.seal(JSON.stringify(this.#secretsOf(parent)), deploymentSecretsContext(id)),
      secret_references: sharedReferences(parent),
      ...{ shareable: false, route_through_gateway: parent.route_through_gateway },
      database_name: databaseNameOf(id),
      database_password_sealed: secretBox.seal(newSecret(24), deploymentDatabaseContext(id)),
      ...{ createdBy: null, now },
    });
    if (!inserted) return undefined;
    const seenAt = request.listed?.updatedAt ?? now;
    await store.markPreview(tx, id, { parentId: parent.id, number: request.number, seenAt });
    return findDeployment(tx, parent.workspace_id, id);
  }

  /** None unless the user said that previews get them. */
  #secretsOf(parent: Deployment): Secret[] {
    if (!parent.previews_share_secrets) return [];
    const sealed = this.#options.secretBox.open(parent.secrets_sealed, deploymentSecretsContext(parent.id));
    return JSON.parse(sealed) as Secret[];
  }
}

/** As with secrets. */
function sharedReferences({ previews_share_secrets: shares, secret_references }: Deployment) {
  return shares ? secret_references : null;
}

/** As people find it in lists: the parent, the number and the branch. */
export function previewName(
  parent: string,
  { number, branch }: Pick<PullRequest, "number" | "branch">,
): string {
  const plain = branch.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 40);
  return `${parent.slice(0, 70)}-pr-${number}-${plain}`;
}
