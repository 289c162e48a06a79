import type { SealedColumn } from "../platform/encryption/encryption-rotation.ts";

export function clientSecretContext(id: string): string {
  return `auth_providers:${id}:client_secret`;
}

export function accessTokenContext(id: string): string {
  return `auth_tokens:${id}:access_token`;
}

export function refreshTokenContext(id: string): string {
  return `auth_tokens:${id}:refresh_token`;
}

export function pendingAccessTokenContext(id: string): string {
  return `auth_pending_revocations:${id}:access_token`;
}

export function pendingRefreshTokenContext(id: string): string {
  return `auth_pending_revocations:${id}:refresh_token`;
}

export function codeVerifierContext(id: string): string {
  return `auth_authorizations:${id}:code_verifier`;
}

export function consentUrlContext(id: string): string {
  return `auth_authorizations:${id}:url`;
}

export function webhookSecretContext(workspaceId: string): string {
  return `auth_webhooks:${workspaceId}:secret`;
}

/** What this area keeps sealed; a rotation of the encryption key re-seals it. */
export const authServiceSealedColumns: readonly SealedColumn[] = [
  {
    table: "auth_providers",
    idColumns: ["id"],
    column: "client_secret_sealed",
    context: clientSecretContext,
  },
  { table: "auth_tokens", idColumns: ["id"], column: "access_token_sealed", context: accessTokenContext },
  { table: "auth_tokens", idColumns: ["id"], column: "refresh_token_sealed", context: refreshTokenContext },
  {
    table: "auth_pending_revocations",
    idColumns: ["id"],
    column: "access_token_sealed",
    context: pendingAccessTokenContext,
  },
  {
    table: "auth_pending_revocations",
    idColumns: ["id"],
    column: "refresh_token_sealed",
    context: pendingRefreshTokenContext,
  },
  {
    table: "auth_authorizations",
    idColumns: ["id"],
    column: "code_verifier_sealed",
    context: codeVerifierContext,
  },
  { table: "auth_authorizations", idColumns: ["id"], column: "url_sealed", context: consentUrlContext },
  {
    table: "auth_webhooks",
    idColumns: ["workspace_id"],
    column: "secret_sealed",
    context: webhookSecretContext,
  },
];
