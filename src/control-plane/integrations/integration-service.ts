import { createHmac } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { sameText } from "../../platform/encryption/same-text.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import { isJsonTooDeep, maxJsonDepth } from "../../platform/json-depth.ts";
import type { GitCredentials } from "../builds/git-source.ts";
import { parseRepoUrl } from "../builds/repo-url.ts";
import { countForIntegration } from "../desired-state/deployment-store.ts";
import { integrationCredentialsContext, integrationWebhookContext } from "../encryption/sealed-columns.ts";
import type { GithubApi } from "./github-api.ts";
import {
  hostProblem,
  type Integration,
  type IntegrationCredentials,
  type Push,
  readPush,
} from "./integration.ts";
import * as store from "./integration-store.ts";

export type NewIntegration = {
  name: string;
  host: string;
  apiUrl: string | null;
  credentials: IntegrationCredentials;
  webhookSecret: string | undefined;
};

export function createIntegrationService(options: {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  github: GithubApi;
  onPush(integration: Integration, push: Push): Promise<string[]>;
}) {
  const { database, clock, secretBox, github } = options;

  const openCredentials = (row: Integration) =>
    JSON.parse(
      secretBox.open(row.credentials_sealed, integrationCredentialsContext(row.id)),
    ) as IntegrationCredentials;

  async function load(caller: Caller, id: string): Promise<Integration> {
    const found = await store.findIntegration(database.sql, caller.workspaceId, id);
    if (!found) throw notFound(id);
    return found;
  }

  return {
    async create(
      caller: Caller,
      input: NewIntegration,
    ): Promise<{ integration: Integration; webhookSecret: string }> {
      const id = newId();
      const webhookSecret = input.webhookSecret ?? newSecret();
      const inserted = await store.insertIntegration(database.sql, {
        id,
        workspace_id: caller.workspaceId,
        name: input.name,
        host: input.host,
        api_url: input.apiUrl,
        credentials_sealed: secretBox.seal(
          JSON.stringify(input.credentials),
          integrationCredentialsContext(id),
        ),
        webhook_secret_sealed: secretBox.seal(webhookSecret, integrationWebhookContext(id)),
        createdBy: caller.userId,
        now: clock.now(),
      });
      if (!inserted) {
        throw new AppError({
          code: "integration.name_taken",
          kind: "conflict",
          message: `An integration named '${input.name}' already exists.`,
        });
      }
      return { integration: await load(caller, id), webhookSecret };
    },
    list: (caller: Caller) => store.listIntegrations(database.sql, caller.workspaceId),
    async listRepositories(caller: Caller, id: string) {
      const row = await load(caller, id);
      return github.listRepositories(row, openCredentials(row));
    },
    async remove(caller: Caller, id: string): Promise<void> {
      await load(caller, id);
      const used = await countForIntegration(database.sql, caller.workspaceId, id);
      if (used > 0) {
        throw new AppError({
          code: "integration.in_use",
          kind: "conflict",
          message: `Integration ${id} is used by ${used} deployment${used === 1 ? "" : "s"}. Delete them first.`,
        });
      }
      await store.deleteIntegration(database.sql, caller.workspaceId, id, clock.now(), {
        credentials: secretBox.seal("{}", integrationCredentialsContext(id)),
        webhook: secretBox.seal("", integrationWebhookContext(id)),
      });
    },

    /** What git is given to read this repository; null without an integration. */
    async gitCredentials(
      workspaceId: string,
      integrationId: string | null,
      repoUrl: string,
      signal: AbortSignal,
    ): Promise<GitCredentials> {
      if (integrationId === null) return null;
      const row = await store.findIntegration(database.sql, workspaceId, integrationId);
      if (!row) throw notFound(integrationId);
      const repository = parseRepoUrl(repoUrl);
      const problem = "problem" in repository ? repository.problem : hostProblem(row, repository);
      if (problem) throw new AppError({ code: "integration.other_host", kind: "invalid", message: problem });
      const credentials = openCredentials(row);
      if (credentials.kind === "ssh") return { privateKey: credentials.privateKey };
      return { token: await github.tokenOf(row, credentials, signal) };
    },

    /** Returns the revisions it made. The signature is the credential. */
    async receiveWebhook(
      id: string,
      request: { signature: string | null; event: string | null; body: Uint8Array },
    ): Promise<string[]> {
      const row = await store.findAnyIntegration(database.sql, id);
      const secret = row ? secretBox.open(row.webhook_secret_sealed, integrationWebhookContext(id)) : "";
      // The same answer and the same work for an unknown id: it must not reveal which ids exist.
      const known = isSigned(request.body, request.signature, secret || "unknown");
      if (!row || !known) {
        throw new AppError({
          code: "integration.bad_signature",
          kind: "unauthenticated",
          message: "The signature of this webhook is missing or wrong. Check the secret set at the git host.",
        });
      }
      if (request.event !== null && request.event !== "push") return [];
      const push = readPush(parse(request.body));
      if (push === null) return [];
      if ("problem" in push) throw badWebhook(`The webhook cannot be used: ${push.problem}`);
      return options.onPush(row, push);
    },
  };
}

export type IntegrationService = ReturnType<typeof createIntegrationService>;

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
