import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { readBytes } from "../../platform/http/validation/body.ts";
import { id, time } from "../wire/wire-fields.ts";
import type { Integration, IntegrationCredentials } from "./integration.ts";
import type { IntegrationService, ListedIntegration } from "./integration-service.ts";

const tag = "Integrations (v1)";
const params = z.object({ integration_id: id });
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;

const installationFields = {
  id,
  installation_id: z.number().int(),
  name: z.string(),
  host: z.string(),
  created_at: time,
};
const installation = z
  .object({
    ...installationFields,
    credential: z.enum(["token", "ssh", "app"]).describe("What it enters the host with; never shown."),
    deployments: z.number().int().describe("How many deployments use it. One that is used is not removed."),
    may_remove: z.boolean().describe("Admins remove any integration, editors those that they made."),
  })
  .meta({ id: "GitInstallation" });
const repository = z
  .object({
    host_integration_id: id,
    id: z.number(),
    name: z.string(),
    owner: z.string(),
    url: z.string(),
    default_branch: z.string(),
  })
  .meta({ id: "GitRepository" });
const created = z.object({
  ...installationFields,
  webhook_url: z.string(),
  webhook_secret: z.string().describe("Only in this response; set it at the git host."),
});

const createRequest = z.object({
  name: z.string().trim().min(1).max(200),
  host: z
    .string()
    .trim()
    .regex(
      /^(?:https?:\/\/)?(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/i,
      "must be a host name, for example github.com",
    )
    .refine((host) => URL.canParse(host.includes("://") ? host : `https://${host}`), "must be a host name")
    .default("github.com")
    .describe(
      "The one host the credential is for: name or name:port, reached by https; http://name:port where there is none.",
    ),
  api_url: z.url({ protocol: /^https?$/ }).nullish(),
  token: z.string().min(1).max(10_000).nullish().describe("A token that may read the repositories."),
  ssh_private_key: z.string().min(1).max(20_000).nullish(),
  app_id: z.string().min(1).max(200).nullish(),
  app_private_key: z.string().min(1).max(20_000).nullish(),
  app_installation_id: z.string().min(1).max(200).nullish(),
  webhook_secret: z.string().min(16).max(500).nullish(),
});

const webhookBytes = 25 * 1024 * 1024;

export function integrationRoutes(service: IntegrationService, publicUrl: () => string): Route[] {
  return [
    ...integrationReadingRoutes(service),
    ...integrationChangingRoutes(service, publicUrl),
    ...webhookRoutes(service),
  ];
}

/** The same under the paths of clients of different ages. */
function integrationReadingRoutes(service: IntegrationService): Route[] {
  return [
    listInstallations(service, "/v1/integrations/github/install", "list_github_integrations"),
    listInstallations(service, "/v1/integrations/forge/github/install", "list_forge_github_integrations"),
    listInstallations(service, "/v2/integrations/github/installations", "list_github_installations"),
    listInstallations(
      service,
      "/v2/integrations/forge-github/installations",
      "list_forge_github_installations",
    ),
    listRepositories(service, "/v1/integrations/github/{integration_id}/repos", "list_github_repositories"),
    listRepositories(
      service,
      "/v1/integrations/forge/github/{integration_id}/repos",
      "list_forge_github_repositories",
    ),
    listRepositories(
      service,
      "/v2/integrations/github/installations/{integration_id}/repositories",
      "list_installation_repositories",
    ),
    listRepositories(
      service,
      "/v2/integrations/forge-github/installations/{integration_id}/repositories",
      "list_forge_installation_repositories",
    ),
  ];
}

function listInstallations(service: IntegrationService, path: `/${string}`, operationId: string): Route {
  return route(
    {
      method: "get",
      path,
      operationId,
      summary: "List git integrations",
      tag,
      access: read,
      responses: { 200: { description: "The integrations", schema: z.array(installation) } },
    },
    async ({ caller }) => json(200, (await service.list(caller)).map(toInstallation)),
  );
}

function listRepositories(service: IntegrationService, path: `/${string}`, operationId: string): Route {
  return route(
    {
      method: "get",
      path,
      operationId,
      summary: "List the repositories an integration can read",
      tag,
      access: read,
      params,
      responses: { 200: { description: "The repositories", schema: z.array(repository) } },
      errors: [404, 502],
    },
    async ({ caller, params }) => {
      const found = await service.listRepositories(caller, params.integration_id);
      return json(
        200,
        found.map((item) => ({ host_integration_id: params.integration_id, ...item })),
      );
    },
  );
}

function integrationChangingRoutes(service: IntegrationService, publicUrl: () => string): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v1/integrations/github",
        operationId: "create_github_integration",
        summary: "Create a git integration",
        description:
          "Give a token, an SSH key, or an app's id, key and installation. None of them is ever returned. A token or an app that the host does not know is refused, and nothing is stored.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "admin" },
        audit: {
          action: "integration.created",
          target: { kind: "integration", id: "answer.id", name: "body.name" },
        },
        body: createRequest,
        idempotent: true,
        responses: { 201: { description: "The integration", schema: created } },
        errors: [400, 409],
      },
      async ({ caller, body }) => {
        const { integration, webhookSecret } = await service.create(caller, {
          name: body.name,
          host: body.host.toLowerCase(),
          apiUrl: body.api_url ?? null,
          credentials: credentialsOf(body),
          webhookSecret: body.webhook_secret ?? undefined,
        });
        return json(201, {
          ...toFields(integration),
          webhook_url: `${publicUrl()}/v1/integrations/github/${integration.id}/webhook`,
          webhook_secret: webhookSecret,
        });
      },
    ),
    route(
      {
        method: "delete",
        path: "/v1/integrations/github/{integration_id}",
        operationId: "delete_github_integration",
        summary: "Delete a git integration",
        tag,
        description: "Admins remove any integration that no deployment uses, editors those that they made.",
        access: { kind: "workspace", role: "editor", scope: "admin" },
        audit: {
          action: "integration.deleted",
          target: { kind: "integration", id: "params.integration_id" },
        },
        params,
        responses: { 204: { description: "Deleted" } },
        errors: [403, 404, 409],
      },
      async ({ caller, params }) => {
        await service.remove(caller, params.integration_id);
        return noContent();
      },
    ),
  ];
}

function webhookRoutes(service: IntegrationService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v1/integrations/github/{integration_id}/webhook",
        operationId: "receive_push",
        summary: "Receive a push or a pull request",
        description:
          "From GitHub, signed with the integration's secret (X-Hub-Signature-256), or from GitLab with the secret itself (X-Gitlab-Token). Either is the credential.",
        tag,
        access: { kind: "open" },
        params,
        rawBody: true,
        maxBodyBytes: webhookBytes,
        responses: {
          202: { description: "The revisions made", schema: z.object({ revision_ids: z.array(id) }) },
        },
        errors: [400, 401],
      },
      async ({ params, request }) => {
        const body = await readBytes(request, webhookBytes);
        const made = await service.receiveWebhook(params.integration_id, {
          signature: request.headers.get("x-hub-signature-256") ?? null,
          event: request.headers.get("x-github-event") ?? null,
          gitlabToken: request.headers.get("x-gitlab-token") ?? null,
          body,
        });
        return json(202, { revision_ids: made });
      },
    ),
  ];
}

function toFields({ id, installation_id, name, host, created_at: at }: Integration) {
  return { id, installation_id, name, host, created_at: at.toISOString() };
}

function toInstallation(listed: ListedIntegration): z.input<typeof installation> {
  const { row, kind: credential, deployments, mayRemove: may_remove } = listed;
  return { ...toFields(row), credential, deployments, may_remove };
}

function credentialsOf(body: z.output<typeof createRequest>): IntegrationCredentials {
  const { app_id: appId, app_private_key: appKey, app_installation_id: installationId } = body;
  const kinds = [body.token, body.ssh_private_key, appKey].filter((value) => value);
  if (kinds.length !== 1) {
    throw invalidField(["body"], "Send exactly one of token, ssh_private_key and app_private_key");
  }
  if (body.token) return { kind: "token", token: body.token };
  if (body.ssh_private_key) return { kind: "ssh", privateKey: body.ssh_private_key };
  if (!appId || !installationId) {
    throw invalidField(["body", "app_id"], "An app needs app_id, app_private_key and app_installation_id");
  }
  return { kind: "app", appId, privateKey: appKey!, installationId };
}
