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
import type { GitHostApi } from "./git-host-api.ts";
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

  /** Returns the revisions it made. The signature is the credential. */
  async receiveWebhook(
    id: string,
    request: { signature: string | null; event: string | null; body: Uint8Array },
  ): Promise<string[]> {
    const row = await store.findAnyIntegration(this.#options.database.sql, id);
    const secret = row
      ? this.#options.secretBox.open(row.webhook_secret_sealed, integrationWebhookContext(id))
      : "";
    // The same answer and the same work for an unknown id: it must not reveal which ids exist.
    const known = isSigned(request.body, request.signature, secret || "unknown");
    if (!row || !known) {
      throw new AppError({
        code: "integration.bad_signature",
        kind: "unauthenticated",
        message: "The signature of this webhook is missing or wrong. Check the secret set at the git host.",
      });
    }
    if (request.event === "pull_request") {
      const changed = readPullRequest(parse(request.body));
      if (changed === null) return [];
      if ("problem" in changed) throw badWebhook(`The webhook cannot be used: ${changed.problem}`);
      return this.#options.onPullRequest(row, changed);
    }
    if (request.event !== null && request.event !== "push") return [];
    const push = readPush(parse(request.body));
    if (push === null) return [];
    if ("problem" in push) throw badWebhook(`The webhook cannot be used: ${push.problem}`);
    return this.#options.onPush(row, push);
  }

  /** What the host does not know is not stored: it would open nothing and stay until somebody finds it. */
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
