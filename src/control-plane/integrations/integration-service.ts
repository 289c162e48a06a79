import { createHmac } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { sameText } from "../../platform/encryption/same-text.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import { type Caller, roleCovers } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import { isJsonTooDeep, maxJsonDepth } from "../../platform/json-depth.ts";
import type { GitCredentials } from "../builds/build-request.ts";
import { parseRepoUrl } from "../builds/git/repo-url.ts";
import { countForIntegration } from "../desired-state/deployment-store.ts";
import { integrationCredentialsContext, integrationWebhookContext } from "../encryption/sealed-columns.ts";
import type { HostKind } from "./git-host.ts";
import type { GitHostApi } from "./git-host-api.ts";
import { readGitlabPush, readMergeRequest } from "./gitlab-webhook.ts";
import {
  hostProblem,
  type Integration,
  type IntegrationCredentials,
  type Push,
  readPush,
} from "./integration.ts";
import * as store from "./integration-store.ts";
import { type PullRequest, readPullRequest } from "./pull-request.ts";

export type NewIntegration = {
  name: string;
  host: string;
  apiUrl: string | null;
  credentials: IntegrationCredentials;
  webhookSecret: string | undefined;
};

export type IntegrationServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  host: GitHostApi;
  onPush(integration: Integration, push: Push): Promise<string[]>;
  onPullRequest(integration: Integration, request: PullRequest): Promise<string[]>;
};

export type Webhook = {
  /** GitHub's: `X-Hub-Signature-256` and `X-GitHub-Event`. */
  signature: string | null;
  event: string | null;
  /** GitLab's: `X-Gitlab-Token`. Its body says what happened. */
  gitlabToken: string | null;
  body: Uint8Array;
};

export type ListedIntegration = {
  row: Integration;
  kind: IntegrationCredentials["kind"];
  deployments: number;
  mayRemove: boolean;
};

export class IntegrationService {
  readonly #options: IntegrationServiceOptions;

  constructor(options: IntegrationServiceOptions) {
    this.#options = options;
  }

  async create(
    caller: Caller,
    input: NewIntegration,
  ): Promise<{ integration: Integration; webhookSecret: string }> {
    await this.#check(input);
    const id = newId();
    const webhookSecret = input.webhookSecret ?? newSecret();
    const inserted = await store.insertIntegration(this.#options.database.sql, {
      id,
      workspace_id: caller.workspaceId,
      name: input.name,
      host: input.host,
      api_url: input.apiUrl,
      credentials_sealed: this.#options.secretBox.seal(
        JSON.stringify(input.credentials),
        integrationCredentialsContext(id),
      ),
      webhook_secret_sealed: this.#options.secretBox.seal(webhookSecret, integrationWebhookContext(id)),
      createdBy: caller.userId,
      now: this.#options.clock.now(),
    });
    if (!inserted) {
      throw new AppError({
        code: "integration.name_taken",
        kind: "conflict",
        message: `An integration named '${input.name}' already exists.`,
      });
    }
    return { integration: await this.#load(caller, id), webhookSecret };
  }

  /** With how many deployments use each, and whether the caller may remove it. */
  async list(caller: Caller): Promise<ListedIntegration[]> {
    const { sql } = this.#options.database;
    const rows = await store.listIntegrations(sql, caller.workspaceId);
    const used = await store.countUses(sql, caller.workspaceId);
    return rows.map((row) => ({
      row,
      kind: this.#openCredentials(row).kind,
      deployments: used.get(row.id) ?? 0,
      mayRemove: mayRemove(caller, row),
    }));
  }

  async listRepositories(caller: Caller, id: string) {
    const row = await this.#load(caller, id);
    return this.#options.host.listRepositories(row, this.#openCredentials(row));
  }

  /** Admins remove any, editors those that they made. */
  async remove(caller: Caller, id: string): Promise<void> {
    const row = await this.#load(caller, id);
    if (!mayRemove(caller, row))
      throw new AppError({
        code: "integration.not_yours",
        kind: "forbidden",
        message: `Somebody else made the integration ${row.name}. Ask them or an admin to remove it.`,
      });
    const used = await countForIntegration(this.#options.database.sql, caller.workspaceId, id);
    if (used > 0) {
      throw new AppError({
        code: "integration.in_use",
        kind: "conflict",
        message: `Integration ${id} is used by ${used} deployment${used === 1 ? "" : "s"}. Delete them first.`,
      });
    }
    await store.deleteIntegration(
      this.#options.database.sql,
      caller.workspaceId,
      id,
      this.#options.clock.now(),
      {
        credentials: this.#options.secretBox.seal("{}", integrationCredentialsContext(id)),
        webhook: this.#options.secretBox.seal("", integrationWebhookContext(id)),
      },
    );
  }

  /** What git is given to read this repository; null without an integration. */
  async gitCredentials(
    workspaceId: string,
    integrationId: string | null,
    repoUrl: string,
    signal: AbortSignal,
  ): Promise<GitCredentials> {
    if (integrationId === null) return null;
    const { row, credentials } = await this.#openFor(workspaceId, integrationId, repoUrl);
    if (credentials.kind === "ssh") return { privateKey: credentials.privateKey };
    return { token: await this.#options.host.tokenOf(row, credentials, signal) };
  }

  /** What the host's API is asked with about this repository; null where the integration holds only an SSH key. */
  async apiAccess(
    workspaceId: string,
    integrationId: string,
    repoUrl: string,
    signal: AbortSignal,
  ): Promise<{ place: Integration; token: string; isShortLived: boolean } | null> {
    const { row, credentials } = await this.#openFor(workspaceId, integrationId, repoUrl);
    if (credentials.kind === "ssh") return null;
    const token = await this.#options.host.tokenOf(row, credentials, signal);
    return { place: row, token, isShortLived: credentials.kind === "app" };
  }

  /** Returns the revisions it made. GitHub signs with the secret, GitLab sends it: either is the credential. */
  async receiveWebhook(id: string, request: Webhook): Promise<string[]> {
    const row = await store.findAnyIntegration(this.#options.database.sql, id);
    const secret = row
      ? this.#options.secretBox.open(row.webhook_secret_sealed, integrationWebhookContext(id))
      : "";
    // The same answer and the same work for an unknown id: it must not reveal which ids exist.
    const isSecret = sameText(request.gitlabToken ?? "", secret || "unknown");
    const isKnown = isSigned(request.body, request.signature, secret || "unknown") || isSecret;
    if (!row || !isKnown) {
      throw new AppError({
        code: "integration.bad_signature",
        kind: "unauthenticated",
        message:
          "The signature or the secret token of this webhook is missing or wrong. Check the secret set at the git host.",
      });
    }
    const read = readWebhook(request, isSecret ? "gitlab" : "github");
    if (read === null) return [];
    if ("problem" in read) throw badWebhook(`The webhook cannot be used: ${read.problem}`);
    return "action" in read ? this.#options.onPullRequest(row, read) : this.#options.onPush(row, read);
  }

  /** A credential the host does not accept is not stored: it would be useless, and might stay unnoticed. */
  async #check({ host, apiUrl, credentials }: NewIntegration): Promise<void> {
    const place = { host, api_url: apiUrl };
    const judged = await this.#options.host.judge(place, credentials);
    if (judged !== "refused") return;
    const what = credentials.kind === "app" ? "app" : "token";
    throw new AppError({
      code: "integration.credential_refused",
      kind: "invalid",
      message: `${host} does not accept this ${what}. Check that it is whole, has not expired and is for this host. Nothing was stored.`,
    });
  }

  /** The credential, if it is for the host of this repository. */
  async #openFor(workspaceId: string, id: string, repoUrl: string) {
    const row = await store.findIntegration(this.#options.database.sql, workspaceId, id);
    if (!row) throw notFound(id);
    const repository = parseRepoUrl(repoUrl);
    const problem = "problem" in repository ? repository.problem : hostProblem(row, repository);
    if (problem) throw new AppError({ code: "integration.other_host", kind: "invalid", message: problem });
    return { row, credentials: this.#openCredentials(row) };
  }

  async #load(caller: Caller, id: string): Promise<Integration> {
    const found = await store.findIntegration(this.#options.database.sql, caller.workspaceId, id);
    if (!found) throw notFound(id);
    return found;
  }

  #openCredentials({ id, credentials_sealed: sealed }: Integration): IntegrationCredentials {
    const text = this.#options.secretBox.open(sealed, integrationCredentialsContext(id));
    return JSON.parse(text) as IntegrationCredentials;
  }
}

function mayRemove(caller: Caller, { created_by: maker }: Integration): boolean {
  return caller.role === "admin" || (roleCovers(caller.role, "editor") && maker === caller.userId);
}

function isSigned(body: Uint8Array, signature: string | null, secret: string): boolean {
  return sameText(signature ?? "", `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
}

/** What happened, or null where nothing is built for it. */
function readWebhook(
  { event, body }: Webhook,
  kind: HostKind,
): Push | PullRequest | { problem: string } | null {
  if (kind === "gitlab") {
    const sent = parse(body);
    if (sent.object_kind === "merge_request") return readMergeRequest(sent);
    return sent.object_kind === "push" ? readGitlabPush(sent) : null;
  }
  if (event === "pull_request") return readPullRequest(parse(body));
  return event === null || event === "push" ? readPush(parse(body)) : null;
}

function parse(body: Uint8Array): Record<string, unknown> {
  const text = Buffer.from(body).toString("utf8");
  if (isJsonTooDeep(text))
    throw badWebhook(`The webhook's body is nested deeper than ${maxJsonDepth} levels.`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Falls through to the refusal.
  }
  throw badWebhook("The webhook's body is not a JSON object.");
}

function badWebhook(message: string): AppError {
  return new AppError({ code: "integration.bad_webhook", kind: "invalid", message });
}

function notFound(id: string): AppError {
  return new AppError({
    code: "integration.not_found",
    kind: "not_found",
    message: `Integration ID ${id} not found.`,
  });
}
