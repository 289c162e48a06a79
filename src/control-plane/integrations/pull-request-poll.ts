import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { backOffMs, type Place, repositoryPath } from "./git-host.ts";
import type { GitHostApi } from "./git-host-api.ts";
import { repositoryKey } from "./integration.ts";
import type { IntegrationService } from "./integration-service.ts";
import { type PreviewService, previewCutoff } from "./preview-service.ts";
import { listAllWithPreviews } from "./preview-store.ts";

export type PullRequestPollOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  host: GitHostApi;
  integrations: IntegrationService;
  previews: PreviewService;
};

/** A repository that some deployments want previews of. */
type Watched = { key: string; integrationId: string; repoUrl: string; parents: Deployment[] };
type Access = { place: Place; token: string; until: number };
type Silence = { failures: number; until: number };

/** Tokens of apps live for an hour. */
const tokenMs = 45 * 60_000;

/**
 * Finds pull requests where no webhook reports them. What it remembers is only to ask less: after a restart it asks for
 * everything once.
 */
export class PullRequestPoll {
  readonly #options: PullRequestPollOptions;
  /** Of a repository, the answer that has been followed, and for which deployments. */
  readonly #followed = new Map<string, { etag: string; stamp: string }>();
  /** Of an integration, how long its host is left alone. */
  readonly #silences = new Map<string, Silence>();
  /** Of an integration of an app: a host's answers differ by token, and each token is a request. */
  readonly #tokens = new Map<string, Access>();

  constructor(options: PullRequestPollOptions) {
    this.#options = options;
  }

  async poll(signal: AbortSignal): Promise<void> {
    const { database, clock } = this.#options;
    const watched = group(await listAllWithPreviews(database.sql));
    const integrations = new Set(watched.map(({ integrationId }) => integrationId));
    keepOnly(this.#followed, new Set(watched.map(({ key }) => key)));
    keepOnly(this.#silences, integrations);
    keepOnly(this.#tokens, integrations);
    for (const each of watched) {
      signal.throwIfAborted();
      if ((this.#silences.get(each.integrationId)?.until ?? 0) > clock.now().getTime()) continue;
      try {
        await this.#look(each, signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#leaveAlone(each, null, errorMessage(error));
      }
    }
  }

  async #look(watched: Watched, signal: AbortSignal): Promise<void> {
    const { clock, host, previews } = this.#options;
    const access = await this.#accessTo(watched, signal);
    if (access === null) return;
    const path = repositoryPath(access.place, watched.repoUrl);
    if (path === null) return;
    const now = clock.now();
    const stamp = watched.parents.map(({ id, updated_at: at }) => `${id} ${at.getTime()}`).join();
    const before = this.#followed.get(watched.key);
    const etag = before?.stamp === stamp ? before.etag : null;
    const since = previewCutoff(now);
    const found = await host.openRequests(access.place, access.token, { path, since, etag, now, signal });
    if (found.kind === "refused") {
      this.#tokens.delete(watched.integrationId);
      this.#leaveAlone(watched, found.waitMs, `the host answered ${found.status}`);
      return;
    }
    this.#silences.delete(watched.integrationId);
    if (found.kind === "unchanged") return;
    this.#followed.delete(watched.key);
    let isAllFollowed = true;
    for (const parent of watched.parents)
      if (!(await previews.follow(parent, { ...found, askedAt: now }))) isAllFollowed = false;
    if (isAllFollowed && found.etag !== null) this.#followed.set(watched.key, { etag: found.etag, stamp });
  }

  async #accessTo({ integrationId, repoUrl, parents }: Watched, signal: AbortSignal): Promise<Access | null> {
    const now = this.#options.clock.now().getTime();
    const kept = this.#tokens.get(integrationId);
    if (kept && kept.until > now) return kept;
    const workspaceId = parents[0]!.workspace_id;
    const access = await this.#options.integrations.apiAccess(workspaceId, integrationId, repoUrl, signal);
    if (access === null) return null;
    const fresh = { place: access.place, token: access.token, until: now + tokenMs };
    if (access.isShortLived) this.#tokens.set(integrationId, fresh);
    return fresh;
  }

  #leaveAlone({ integrationId, repoUrl }: Watched, askedMs: number | null, reason: string): void {
    const { clock, logger } = this.#options;
    const failures = (this.#silences.get(integrationId)?.failures ?? 0) + 1;
    const waitMs = backOffMs(failures, askedMs);
    this.#silences.set(integrationId, { failures, until: clock.now().getTime() + waitMs });
    logger.warn(
      { integration: integrationId, repository: repositoryKey(repoUrl), reason, waitMs },
      "pull requests could not be looked at",
    );
  }
}

/** Deployments of the same repository with the same credential are one look. */
function group(parents: readonly Deployment[]): Watched[] {
  const found = new Map<string, Watched>();
  for (const parent of parents) {
    const { integration_id: integrationId, repo_url: repoUrl } = parent.source_config;
    if (!integrationId || !repoUrl) continue;
    const key = `${integrationId} ${repositoryKey(repoUrl)}`;
    const watched = found.get(key) ?? { key, integrationId, repoUrl, parents: [] };
    watched.parents.push(parent);
    found.set(key, watched);
  }
  return [...found.values()];
}

function keepOnly(map: Map<string, unknown>, keys: ReadonlySet<string>): void {
  for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
}
