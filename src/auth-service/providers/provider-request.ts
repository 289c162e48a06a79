import { AppError } from "../../platform/errors.ts";
import type { NewProvider, Provider } from "./provider.ts";
import type { ProviderCreateRequest, ProviderUpdateRequest } from "./provider-schemas.ts";
import { findTemplate } from "./provider-templates.ts";

/** The request, completed by its template; 422 for what is still missing. */
export function completeRequest(
  request: ProviderCreateRequest,
): Omit<NewProvider, "id" | "organization_id" | "workspace_id" | "client_secret_sealed" | "created_at"> {
  const template = request.template ? findTemplate(request.template) : undefined;
  if (request.template && !template) {
    throw refusedField(
      "template",
      "value_error",
      "There is no template with this id; GET /v2/auth/provider-templates lists them",
    );
  }
  const name = request.name ?? template?.name;
  const auth_url = request.auth_url ?? template?.auth_url;
  const token_url = request.token_url ?? template?.token_url;
  if (name === undefined) throw missing("name");
  if (auth_url === undefined) throw missing("auth_url");
  if (token_url === undefined) throw missing("token_url");
  const params = { ...template?.authorization_params, ...request.authorization_params };
  const isTemplates = template !== undefined && token_url === template.token_url;
  return {
    provider_id: request.provider_id,
    name,
    client_id: request.client_id,
    auth_url,
    token_url,
    revocation_url: request.revocation_url ?? null,
    issuer: request.issuer ?? (isTemplates ? template.issuer : null),
    uses_pkce: request.uses_pkce ?? template?.uses_pkce ?? false,
    code_challenge_method: "S256",
    provider_type: request.provider_type ?? template?.provider_type ?? null,
    template: template?.id ?? null,
    mcp_server_url: null,
    resource: null,
    token_endpoint_auth_method:
      request.token_endpoint_auth_method ?? template?.token_endpoint_auth_method ?? "client_secret_post",
    authorization_params: Object.keys(params).length > 0 ? params : null,
    is_dynamic_client: false,
    allowed_redirect_uris: request.allowed_redirect_uris ?? [],
  };
}

const missing = (field: string) => refusedField(field, "missing", "Field required");

function refusedField(field: string, type: "missing" | "value_error", message: string): AppError {
  return new AppError({
    code: "request.invalid",
    kind: "unprocessable",
    message: `${field}: ${message}`,
    issues: [{ loc: ["body", field], msg: message, type }],
  });
}

/** The fields that the request names. Null sets a field back to its default. */
export function changesOf(present: Provider, request: ProviderUpdateRequest): Partial<Provider> {
  const template = present.template === null ? undefined : findTemplate(present.template);
  const { client_secret, ...fields } = request;
  const unnamed: Partial<Provider> = {
    revocation_url: null,
    uses_pkce: template?.uses_pkce ?? false,
    code_challenge_method: "S256",
    token_endpoint_auth_method: template?.token_endpoint_auth_method ?? "client_secret_post",
    authorization_params: null,
    allowed_redirect_uris: [],
  };
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, value ?? unnamed[name as keyof Provider]]),
  );
}
